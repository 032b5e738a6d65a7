/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/fault.h"
#include "base/list.h"

/*
 * The person's credentials file, ~/.thirdshift/credentials.toml: tables of strings, in the part of
 * TOML that such a file needs. Written by hand, and shared with other programs:
 *
 *   # comments
 *   [claude]
 *   setup_token = "basic, with \" \\ \n \u00e9 and so on"
 *   [providers]
 *   openai = 'literal'
 *   other.dotted."keys" = "work"
 *
 * Any other valid value of TOML may stand in it (numbers, arrays, strings over several lines, …) and
 * is passed over, unless it is one of ours: [resend] key, [claude] setup_token, [opencode] api_key,
 * each of [providers], and whatever is asked for. Those have to be strings on one line, once.
 *
 * Secrets: whatever held one is wiped, and no fault has any byte of the file but names of tables and
 * keys that are ours.
 */
#define CREDENTIALS_FILE ".thirdshift/credentials.toml" /* below the home */
#define CREDENTIALS_BYTES_MAX (64u * 1024u)
#define CREDENTIALS_ENTRIES_MAX 256

struct credentials;

/*
 * A file that is not there is one without entries. FAULT: not a file of ours, too large, no TOML
 * ("PATH:LINE: …"), one of ours that is no string ("PATH:LINE: [claude] setup_token: …").
 */
int credentials_read(struct credentials **ret_credentials, const char *path,
		     struct fault *ret_fault);
/* From bytes; they are not wiped. */
int credentials_parse(struct credentials **ret_credentials, const char *path, const char *bytes,
		      size_t size, struct fault *ret_fault);
struct credentials *credentials_free(struct credentials *credentials);

/*
 * name: TABLE.KEY, as Credential= has it. *ret_value is the credentials' own, or NULL when there is
 * none or it is empty. FAULT when it is there and no string.
 */
int credentials_get(const struct credentials *credentials, const char *name, const char **ret_value,
		    struct fault *ret_fault);

/*
 * In words, to be freed: the line that such a key stands in, and under which heading; that there is none.
 * NULL: no memory.
 */
char *credentials_line(const char *name);
char *credentials_absent(const char *name);
/* What mends what is missing, each a sentence: only such keys, logins too, or logins alone. A constant. */
const char *credentials_hint(const struct text_list *missing);

/* One that others can read is used all the same; says so, and how to mend it. NULL: all is well. */
const char *credentials_warning(const struct credentials *credentials);
