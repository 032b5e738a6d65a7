/* SPDX-License-Identifier: MIT */
#pragma once

#include "proto/message.h"

/*
 * The exit record: the file `outcome` in a Trial's folder, one msgpack map by OUTCOME_FIELDS.
 * Written to `outcome.new`, fsynced when durable is wanted, renamed. A torn or missing file counts
 * as absent. Shared by the keeper, which writes it, and trialsd, which reads it after a crash.
 *
 * Room for it is taken before the Trial starts: by its end it may have filled the disk itself. Not
 * for its connections: where there is none left for these, they are summed (network_sum).
 *
 * Connections are in this file alone: trialsd reads them when one Trial is shown. So neither the
 * channel nor the ledger nor a page of a list has to hold what a Trial can make so large.
 */
#define RECORD_BYTES_RESERVED (48u * 1024u)
/* With CONNECTIONS_MAX connections, whose names are as long as can be. */
#define RECORD_BYTES_MAX (RECORD_BYTES_RESERVED + 640u * 1024u)

struct record_file {
	int fd;	       /* -1: nothing is reserved */
	bool in_place; /* it is whole, and has its name */
};

#define RECORD_FILE_INIT ((struct record_file){.fd = -1})

/*
 * Creates `outcome.new` anew, RECORD_BYTES_RESERVED long. -ENOSPC, -EDQUOT when there is no room; a file
 * system that cannot reserve is no error, and neither is any other reason to do without.
 */
int record_reserve(struct record_file *file, int folder_fd);

/*
 * Writes the record, to the reserved file if there is one. What was written already is only made
 * durable, if it has to be.
 */
int record_write(struct record_file *file, int folder_fd, const struct outcome_record *record,
		 bool durable);
/* Removes what did not become a record. */
void record_file_done(struct record_file *file, int folder_fd);

/*
 * The record, its connections left out, points into *ret_message. -ENOENT when absent or torn; -EBADMSG is not returned: a
 * file that does not decode is as good as none.
 */
int record_read(int folder_fd, struct message **ret_message, struct outcome_record *ret_record);
/* With its connections. */
int record_read_whole(int folder_fd, struct message **ret_message,
		      struct outcome_record *ret_record);
void record_leave_out_connections(struct outcome_record *record);
/* Adds what is told one by one. */
void connection_sum_add(struct connection_sum *sum,
			const struct trial_connection_list *connections);

/*
 * A stream's files in a Trial's folder. `stdout` holds the head: the first half of the cap. What
 * comes after is in segments `stdout.OFFSET` (20 decimal digits: the offset in original bytes of
 * its first byte), each of RECORD_SEGMENT_BYTES(cap) at most; the oldest are removed so that all
 * of them together stay within the other half. Files are only ever appended to, so a reader needs
 * nothing but the names and sizes: a hole between two is a gap.
 */
#define RECORD_SEGMENT_BYTES(cap) ((cap) / 16)
#define RECORD_SEGMENTS_MAX 8 /* alive at once: the other half of the cap */
#define RECORD_NAME_BYTES 40  /* room for a segment's name */

/* offset 0 names the head. Returns name. */
const char *record_segment_name(enum stream stream, uint64_t offset, char name[RECORD_NAME_BYTES]);

/*
 * A stream as its files show it, while it is written and afterwards. Nothing is held open between
 * calls; the folder's descriptor is borrowed.
 */
struct record_segment {
	uint64_t offset; /* of its first byte, in original bytes */
	uint64_t size;
};

struct record_stream {
	int folder_fd;
	enum stream stream;
	size_t count; /* the head, if it is there, stands first; ascending */
	struct record_segment segments[1 + RECORD_SEGMENTS_MAX + 1];
	uint64_t bytes; /* where the last file ends; more were produced when the record says so */
	uint64_t kept;	/* bytes in the files */
};

/* Looks at the folder. An absent stream is an empty one. -errno. */
int record_stream_open(struct record_stream *ret_stream, int folder_fd, enum stream stream);

/*
 * What is at offset: 1 with *ret_size bytes of data (at most size) in buffer; or 1 with *ret_size
 * 0 and *ret_gap_end > offset, when the bytes from offset to there are not kept; 0 at the end of
 * what the files hold. A file that went since record_stream_open makes it look again, so that
 * what is returned is true when it returns. -errno.
 */
int record_stream_read(struct record_stream *stream, uint64_t offset, void *buffer, size_t size,
		       size_t *ret_size, uint64_t *ret_gap_end);
