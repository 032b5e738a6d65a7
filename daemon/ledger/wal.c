/* SPDX-License-Identifier: MIT */
/*
 * Reading SQLite's write-ahead log (https://sqlite.org/fileformat2.html, section 4) for the one
 * thing that SQLite does not tell: whether it once held more.
 *
 * A log is a header and frames, each with the header's two salts and a checksum over all before it.
 * What follows the last whole frame is, as a rule, of an earlier round of the log, with other salts,
 * or the beginning of a transaction that a crash cut off. There are two signs that it is neither:
 *
 * The index (-shm), which a killed process leaves behind, counts the frames that were committed, and
 * each was synced before it was counted. An index of another round, or one that is not whole (after
 * a power cut), says nothing.
 *
 * A transaction is synced before the next one is begun. So if beyond a frame that is not whole there
 * is a commit of this round, and more of this round after it, that frame had once been whole.
 *
 * The header is synced before the first frame is written (with synchronous=FULL), so that one that
 * is not whole stands before frames that were.
 */
#include "wal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define HEADER_BYTES 32
#define FRAME_HEAD_BYTES 24
#define MAGIC 0x377f0682u /* and 1 more when checksums are of big-endian words */
#define FORMAT 3007000u
#define PAGE_BYTES_MAX 65536u

/* Offsets in the index's header, of which there are two equal copies; in the machine's byte order. */
#define INDEX_BYTES 48
#define INDEX_IS_INIT 12
#define INDEX_FRAMES 16
#define INDEX_SALTS 32

struct log {
	int fd;
	bool big_endian; /* its checksums */
	uint32_t page_bytes;
	uint8_t salts[8];
	uint32_t sum[2];
	uint8_t *frame; /* header and page */
	size_t frame_bytes;
	uint64_t frames; /* how many fit into the file */
};

static uint32_t big(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t little(const uint8_t *at)
{
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* size is a multiple of 8. */
static void sum_add(const struct log *log, uint32_t sum[2], const uint8_t *data, size_t size)
{
	uint32_t (*word)(const uint8_t *at) = log->big_endian ? big : little;

	for (size_t i = 0; i < size; i += 8) {
		sum[0] += word(data + i) + sum[1];
		sum[1] += word(data + i + 4) + sum[0];
	}
}

static bool header_take(struct log *log, const uint8_t header[HEADER_BYTES])
{
	uint32_t page = big(header + 8);

	log->big_endian = big(header) & 1;
	if ((big(header) & ~1u) != MAGIC || big(header + 4) != FORMAT)
		return false;
	if (page < 512 || page > PAGE_BYTES_MAX || (page & (page - 1)))
		return false;
	sum_add(log, log->sum, header, 24);
	if (log->sum[0] != big(header + 24) || log->sum[1] != big(header + 28))
		return false;
	memcpy(log->salts, header + 16, sizeof(log->salts));
	log->page_bytes = page;
	log->frame_bytes = FRAME_HEAD_BYTES + page;
	return true;
}

static int frame_read(const struct log *log, uint64_t number)
{
	off_t offset = (off_t)(HEADER_BYTES + number * log->frame_bytes);
	ssize_t n = pread(log->fd, log->frame, log->frame_bytes, offset);

	return n < 0 ? -errno : n == (ssize_t)log->frame_bytes ? 1 : 0;
}

static bool frame_is_of_round(const struct log *log)
{
	return memcmp(log->frame + 8, log->salts, sizeof(log->salts)) == 0;
}

static bool frame_is_commit(const struct log *log)
{
	return big(log->frame + 4) != 0;
}

/* Adds it to the sum if it is whole. */
static bool frame_is_whole(struct log *log)
{
	uint32_t sum[2] = {log->sum[0], log->sum[1]};

	if (!frame_is_of_round(log) || big(log->frame) == 0)
		return false;
	sum_add(log, sum, log->frame, 8);
	sum_add(log, sum, log->frame + FRAME_HEAD_BYTES, log->page_bytes);
	if (sum[0] != big(log->frame + 16) || sum[1] != big(log->frame + 20))
		return false;
	memcpy(log->sum, sum, sizeof(sum));
	return true;
}

/* How many frames SQLite will take, and whether more of this round were committed behind them. */
static int frames_look(struct log *log, uint64_t *ret_committed, bool *ret_more)
{
	bool commit = false;
	uint64_t number = 0;
	int r = 0;

	*ret_committed = 0;
	*ret_more = false;
	for (; number < log->frames && (r = frame_read(log, number)) > 0; number++) {
		if (!frame_is_whole(log))
			break;
		if (frame_is_commit(log))
			*ret_committed = number + 1;
	}
	for (; r > 0 && number < log->frames && (r = frame_read(log, number)) > 0; number++) {
		if (!frame_is_of_round(log))
			continue;
		if (commit) {
			*ret_more = true;
			break;
		}
		commit = frame_is_commit(log);
	}
	return r < 0 ? r : 0;
}

/* How many frames of this round the index counts; 0 when it says nothing. */
static uint32_t index_frames(const struct log *log, int folder_fd, const char *name)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t copies[2][INDEX_BYTES];
	uint32_t frames;

	if (fd < 0 || pread(fd, copies, sizeof(copies), 0) != (ssize_t)sizeof(copies))
		return 0;
	if (memcmp(copies[0], copies[1], INDEX_BYTES) != 0 || !copies[0][INDEX_IS_INIT] ||
	    memcmp(copies[0] + INDEX_SALTS, log->salts, sizeof(log->salts)) != 0)
		return 0;
	memcpy(&frames, copies[0] + INDEX_FRAMES, sizeof(frames));
	return frames;
}

static int log_look(struct log *log, int folder_fd, const char *index, const char **ret_what)
{
	uint64_t committed;
	bool more;
	int r;

	log->frame = malloc(log->frame_bytes);
	if (!log->frame)
		return -ENOMEM;
	r = frames_look(log, &committed, &more);
	free(log->frame);
	if (r < 0)
		return r;
	if (index_frames(log, folder_fd, index) > committed)
		*ret_what = "its write-ahead log has lost what was committed to it";
	else if (more)
		*ret_what = "its write-ahead log is damaged in the middle";
	return *ret_what != NULL;
}

int wal_check(int folder_fd, const char *name, const char *index, int64_t ledger_bytes,
	      const char **ret_what)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t header[HEADER_BYTES];
	struct log log = {.fd = fd};
	struct stat st;
	ssize_t n;

	*ret_what = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	/* A header alone, whole or not, is of a log to which nothing was written yet. */
	if (st.st_size <= HEADER_BYTES)
		return 0;
	n = pread(fd, header, sizeof(header), 0);
	if (n < 0)
		return -errno;
	if (n < HEADER_BYTES || !header_take(&log, header)) {
		*ret_what = "the head of its write-ahead log is damaged";
		return 1;
	}
	/* SQLite would remove the log of an empty file. */
	if (ledger_bytes == 0) {
		*ret_what = "it is empty, and its write-ahead log is not";
		return 1;
	}
	log.frames = (uint64_t)(st.st_size - HEADER_BYTES) / log.frame_bytes;
	return log_look(&log, folder_fd, index, ret_what);
}
