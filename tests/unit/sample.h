/* SPDX-License-Identifier: MIT */
#pragma once

#include "proto/message.h"

/*
 * Messages of any type, made up from its field table: valid, within every limit, and the same
 * each time for the same seed. What they point to lives until sample_free.
 */
struct sample;

struct sample *sample_new(uint64_t seed);
struct sample *sample_free(struct sample *sample);

/* 0 … below - 1. */
uint64_t sample_number(struct sample *sample, uint64_t below);

/* Zeroed memory. */
void *sample_allocate(struct sample *sample, size_t size);

/* all: every optional field is there and every list has an element; else a throw of the dice. */
void sample_fill(struct sample *sample, const struct message_type *type, bool all, void *structure);

/* Every message type of the protocol, and how many there are. */
extern const struct message_type *const sample_types[];
extern const size_t sample_type_count;
