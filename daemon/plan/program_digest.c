/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <fcntl.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

/* Digests of programs, which are large, kept by what tells that a file is still the same. */

#define TRIES 3
#define BUFFER_BYTES (256u * 1024u)

int program_stamp_of(int fd, struct program_stamp *ret_stamp)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_stamp = (struct program_stamp){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = st.st_size,
		.modified = st.st_mtim,
		.changed = st.st_ctim,
	};
	return 0;
}

static bool time_equal(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool program_stamp_equal(const struct program_stamp *a, const struct program_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       time_equal(&a->modified, &b->modified) && time_equal(&a->changed, &b->changed);
}

static int digest_once(int fd, uint8_t *buffer, char ret_digest[PROGRAM_DIGEST_BYTES])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;
	uint64_t total = 0;

	sha256_init(&hash);
	for (;;) {
		ssize_t n = pread(fd, buffer, BUFFER_BYTES, (off_t)total);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (uint64_t)n;
		if (total > PROGRAM_BYTES_MAX)
			return -EFBIG;
		sha256_update(&hash, (size_t)n, buffer);
	}
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(ret_digest, sizeof(digest), digest);
	ret_digest[PROGRAM_DIGEST_BYTES - 1] = '\0';
	return 0;
}

int program_digest(int fd, struct program_stamp *ret_stamp, char ret_digest[PROGRAM_DIGEST_BYTES])
{
	_cleanup_free_ uint8_t *buffer = malloc(BUFFER_BYTES);
	_cleanup_close_ int file = -1;
	char path[32];

	if (!buffer)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		return -errno;
	for (int i = 0; i < TRIES; i++) {
		struct program_stamp after = {0};
		int r = program_stamp_of(file, ret_stamp);

		if (r == 0)
			r = digest_once(file, buffer, ret_digest);
		if (r == 0)
			r = program_stamp_of(file, &after);
		if (r < 0 || program_stamp_equal(ret_stamp, &after))
			return r;
	}
	return -EBUSY;
}

const struct program_known *programs_find(const struct programs_known *known,
					  const struct program_stamp *stamp)
{
	for (size_t i = 0; i < known->count; i++)
		if (program_stamp_equal(&known->items[i].stamp, stamp))
			return &known->items[i];
	return NULL;
}

void programs_learn(struct programs_known *known, const struct program_known *program)
{
	if (programs_find(known, &program->stamp))
		return;
	known->items[known->next] = *program;
	known->next = (known->next + 1) % PROGRAMS_KNOWN_MAX;
	known->count += known->count < PROGRAMS_KNOWN_MAX;
}
