/* SPDX-License-Identifier: MIT */
#pragma once

#include "store.h"

/* What comes of opening a ledger. */
struct opening {
	Store *store;
	int folder_fd;
	uint64_t last_id; /* that may have been given, by ledger or witness */
	char *note;	  /* what happened to this ledger before, or NULL */
	bool news;	  /* it happened just now */
};

/*
 * Opens the ledger in the state folder: makes a new one where there never was one, sets a damaged
 * one aside and rebuilds it, adds what a witness (or NULL) can prove beyond it. 0; FAULT; -errno. What
 * is returned is the caller's.
 */
int opening_open(struct opening *ret_opening, const char *state_folder,
		 const struct ledger_witness *witness, struct fault *ret_fault);
