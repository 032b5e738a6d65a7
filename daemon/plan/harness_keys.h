/* SPDX-License-Identifier: MIT */
#pragma once

#include "harness.h"

/*
 * Every key of a .harness file, once: the reader, its refusals, the fuzzer's dictionary and the
 * check of trialsd.harness(5) all go by this table.
 *
 *   X(SECTION, KEY, TYPE, MEMBER, USED BY, NEEDED BY, SPECIFIERS, ALLOWED)
 *
 * TYPE names the setter in harness_value.c, and whether the key may be given more than once, each
 * time adding to a list. USED BY and NEEDED BY are kinds of login; in other sections ANY and NONE
 * are all there is. SPECIFIERS are the letters that may follow a %.
 */
#define HARNESS_KIND(kind) (1u << HARNESS_LOGIN_##kind)
#define HARNESS_NONE 0u
#define HARNESS_ANY (~0u)
#define HARNESS_SAVED (HARNESS_KIND(file) | HARNESS_KIND(folder) | HARNESS_KIND(home))
#define HARNESS_TARGET (HARNESS_KIND(folder) | HARNESS_KIND(home))
#define HARNESS_GIVEN (HARNESS_SAVED | HARNESS_KIND(env))

#define HARNESS_ALLOWED_WORDS                                                                      \
	"words separated by blanks, in quotes where they hold some, with no % but %% and "         \
	"those that this key has"
#define HARNESS_ALLOWED_PATHS "paths below ~/, without . and .."
#define HARNESS_ALLOWED_PATH "a path below ~/, without . and .."
#define HARNESS_ALLOWED_NAMES "names of files, without a slash"
#define HARNESS_ALLOWED_JSON "paths of a JSON file such as tokens.refresh_token (* for any key)"
#define HARNESS_ALLOWED_VARIABLES                                                                  \
	"assignments NAME=VALUE other than HOME, USER and LOGNAME, in quotes where they hold blanks"
#define HARNESS_ALLOWED_SEED "a path below ~/, a blank and a line of text"
#define HARNESS_ALLOWED_HOSTS "hosts such as api.example.com, *.example.com or host:8443"

#define HARNESS_KEYS(X)                                                                             \
	X(Harness, Product, TEXT, product, HARNESS_ANY, HARNESS_ANY, "",                            \
	  "a name of 1 to 64 bytes")                                                                \
	X(Harness, Executable, NAME, executable, HARNESS_ANY, HARNESS_ANY, "",                      \
	  "the name of a program, without a slash")                                                 \
	X(Harness, Family, WORD, family, HARNESS_ANY, HARNESS_NONE, "",                             \
	  "a word of letters, digits, . - and _")                                                   \
	X(Harness, Installed, PATTERNS, installed, HARNESS_ANY, HARNESS_NONE, "",                   \
	  "paths that begin with ~/ or /, without . and ..; a * stands for a part of a name")       \
	X(Harness, Native, RELATIVES, native, HARNESS_ANY, HARNESS_NONE, "",                        \
	  "relative paths, .. among them; a * stands for a part of a name")                         \
	X(Harness, Release, RELEASE, release, HARNESS_ANY, HARNESS_ANY, "",                         \
	  "file, folder or prefix N (N from 1 to 8)")                                               \
	X(Harness, Interpreter, INTERPRETER, interpreter, HARNESS_ANY, HARNESS_NONE, "",            \
	  "the name of a program, and the least version after a blank if there is one")             \
	X(Harness, VersionFile, VERSION_FILE, version_file, HARNESS_ANY, HARNESS_NONE, "",          \
	  "a file below the release, a blank and a path in its JSON")                               \
	X(Harness, VersionArguments, WORDS, version_arguments, HARNESS_ANY, HARNESS_NONE, "",       \
	  HARNESS_ALLOWED_WORDS)                                                                    \
	X(Harness, Install, WORDS, install, HARNESS_ANY, HARNESS_NONE, "", HARNESS_ALLOWED_WORDS)   \
	X(Harness, Environment, VARIABLES, environment, HARNESS_ANY, HARNESS_NONE, "hr",            \
	  HARNESS_ALLOWED_VARIABLES)                                                                \
	X(Harness, StopSignal, SIGNAL, stop_signal, HARNESS_ANY, HARNESS_NONE, "",                  \
	  "TERM, INT, HUP or QUIT")                                                                 \
	X(Harness, Root, BOOLEAN, root, HARNESS_ANY, HARNESS_NONE, "", "yes or no")                 \
	X(Login, File, PATH, file, HARNESS_SAVED, HARNESS_SAVED, "", HARNESS_ALLOWED_PATH)          \
	X(Login, Home, PATH, home, HARNESS_KIND(home), HARNESS_KIND(home), "",                      \
	  HARNESS_ALLOWED_PATH)                                                                     \
	X(Login, Target, PATH, target, HARNESS_TARGET, HARNESS_TARGET, "", HARNESS_ALLOWED_PATH)    \
	X(Login, Saves, SAVES, saves, HARNESS_SAVED, HARNESS_SAVED, "",                             \
	  "in-place, rename or rename-or-in-place")                                                 \
	X(Login, Locks, NAMES, locks, HARNESS_SAVED, HARNESS_NONE, "", HARNESS_ALLOWED_NAMES)       \
	X(Login, SharedLock, PATH, shared_lock, HARNESS_KIND(file), HARNESS_NONE, "",               \
	  HARNESS_ALLOWED_PATH)                                                                     \
	X(Login, Keep, NAMES, keep, HARNESS_KIND(home), HARNESS_KIND(home), "",                     \
	  HARNESS_ALLOWED_NAMES)                                                                    \
	X(Login, Require, JSON_CHOICES, require, HARNESS_SAVED, HARNESS_NONE, "",                   \
	  HARNESS_ALLOWED_JSON ", alternatives with | between them")                                \
	X(Login, Identity, JSON_CLAIMS, identity, HARNESS_SAVED, HARNESS_NONE, "",                  \
	  HARNESS_ALLOWED_JSON ", @CLAIM behind that of a JWT")                                     \
	X(Login, Refreshes, JSON_PATHS, refreshes, HARNESS_SAVED, HARNESS_NONE, "",                 \
	  HARNESS_ALLOWED_JSON)                                                                     \
	X(Login, Optional, JSON_PATHS, optional, HARNESS_SAVED, HARNESS_NONE, "",                   \
	  HARNESS_ALLOWED_JSON)                                                                     \
	X(Login, Expiry, EXPIRY, expiry, HARNESS_SAVED, HARNESS_NONE, "",                           \
	  "a path of a JSON file (@CLAIM behind that of a JWT), a blank and s, ms or rfc3339")      \
	X(Login, RefreshAhead, TIME, refresh_ahead, HARNESS_SAVED, HARNESS_NONE, "",                \
	  "a time such as 5min")                                                                    \
	X(Login, SignIn, WORDS, sign_in, HARNESS_GIVEN, HARNESS_SAVED, "", HARNESS_ALLOWED_WORDS)   \
	X(Login, Concurrency, CONCURRENCY, concurrency, HARNESS_GIVEN, HARNESS_NONE, "",            \
	  "auto, shared or exclusive")                                                              \
	X(Login, Credential, CREDENTIAL, credential, HARNESS_KIND(env), HARNESS_KIND(env), "",      \
	  "TABLE.KEY of the credentials file")                                                      \
	X(Login, Variable, VARIABLE, variable, HARNESS_KIND(env), HARNESS_KIND(env), "",            \
	  "the name of a variable other than HOME, USER and LOGNAME")                               \
	X(Login, ModelVariable, VARIABLE, model_variable, HARNESS_KIND(env), HARNESS_NONE, "",      \
	  "the name of a variable other than HOME, USER and LOGNAME")                               \
	X(Login, ProviderVariable, VARIABLE, provider_variable, HARNESS_KIND(env), HARNESS_NONE,    \
	  "", "the name of a variable other than HOME, USER and LOGNAME")                           \
	X(Login, EndpointVariable, VARIABLE, endpoint_variable, HARNESS_KIND(env), HARNESS_NONE,    \
	  "", "the name of a variable other than HOME, USER and LOGNAME")                           \
	X(Login, Environment, VARIABLES, environment, HARNESS_ANY, HARNESS_NONE, "hrmv",            \
	  HARNESS_ALLOWED_VARIABLES)                                                                \
	X(Login, Hosts, HOSTS, hosts, HARNESS_ANY, HARNESS_NONE, "", HARNESS_ALLOWED_HOSTS)         \
	X(Home, ReadOnly, PATHS, read_only, HARNESS_ANY, HARNESS_NONE, "", HARNESS_ALLOWED_PATHS)   \
	X(Home, Copy, PATHS, copies, HARNESS_ANY, HARNESS_NONE, "", HARNESS_ALLOWED_PATHS)          \
	X(Home, Seed, SEED, seeds, HARNESS_ANY, HARNESS_NONE, "hr", HARNESS_ALLOWED_SEED)           \
	X(Session, Arguments, ARGUMENTS, arguments, HARNESS_ANY, HARNESS_ANY, "hr",                 \
	  "words separated by blanks, and once each {extra} and such of {model} {effort} {resume} " \
	  "{web} {prompt} as there is a key for")                                                   \
	X(Session, Model, WORDS, model, HARNESS_ANY, HARNESS_NONE, "m", HARNESS_ALLOWED_WORDS)      \
	X(Session, Effort, WORDS, effort, HARNESS_ANY, HARNESS_NONE, "e", HARNESS_ALLOWED_WORDS)    \
	X(Session, ModelEffort, WORDS, model_effort, HARNESS_ANY, HARNESS_NONE, "me",               \
	  HARNESS_ALLOWED_WORDS)                                                                    \
	X(Session, Efforts, EFFORTS, efforts, HARNESS_ANY, HARNESS_NONE, "",                        \
	  "words of letters, digits, . - and _")                                                    \
	X(Session, Resume, WORDS, resume, HARNESS_ANY, HARNESS_NONE, "i", HARNESS_ALLOWED_WORDS)    \
	X(Session, Never, WORDS, never, HARNESS_ANY, HARNESS_NONE, "", HARNESS_ALLOWED_WORDS)       \
	X(Session, Prompt, PROMPTS, prompts, HARNESS_ANY, HARNESS_ANY, "",                          \
	  "argument, stdin or file, or several in the order of preference")                         \
	X(Session, PromptArgument, WORDS, prompt_arguments[HARNESS_PROMPT_argument], HARNESS_ANY,   \
	  HARNESS_NONE, "p", HARNESS_ALLOWED_WORDS)                                                 \
	X(Session, PromptStdin, WORDS, prompt_arguments[HARNESS_PROMPT_stdin], HARNESS_ANY,         \
	  HARNESS_NONE, "", HARNESS_ALLOWED_WORDS)                                                  \
	X(Session, PromptFile, WORDS, prompt_arguments[HARNESS_PROMPT_file], HARNESS_ANY,           \
	  HARNESS_NONE, "f", HARNESS_ALLOWED_WORDS)                                                 \
	X(Session, PromptLimit, SIZE, prompt_limit, HARNESS_ANY, HARNESS_NONE, "",                  \
	  "a size such as 20M, from 1 to 20M")                                                      \
	X(Session, State, PATHS, state, HARNESS_ANY, HARNESS_NONE, "", HARNESS_ALLOWED_PATHS)       \
	X(Session, Answer, ANSWER, answers, HARNESS_ANY, HARNESS_NONE, "",                          \
	  "conditions such as type=result, and last the path of a text, with blanks between them")  \
	X(Web, Arguments, WORDS, arguments, HARNESS_ANY, HARNESS_NONE, "hr",                        \
	  HARNESS_ALLOWED_WORDS)                                                                    \
	X(Web, WrapperArguments, WORDS, wrapper_arguments, HARNESS_ANY, HARNESS_NONE, "hr",         \
	  HARNESS_ALLOWED_WORDS)                                                                    \
	X(Web, Environment, VARIABLES, environment, HARNESS_ANY, HARNESS_NONE, "hr",                \
	  HARNESS_ALLOWED_VARIABLES)                                                                \
	X(Web, Seed, SEED, seeds, HARNESS_ANY, HARNESS_NONE, "hr", HARNESS_ALLOWED_SEED)            \
	X(Network, Hosts, HOSTS, hosts, HARNESS_ANY, HARNESS_NONE, "", HARNESS_ALLOWED_HOSTS)       \
	X(Network, AlsoTries, HOSTS, also_tries, HARNESS_ANY, HARNESS_NONE, "",                     \
	  HARNESS_ALLOWED_HOSTS)                                                                    \
	X(Network, ProviderHosts, PROVIDER_HOSTS, provider_hosts, HARNESS_ANY, HARNESS_NONE, "",    \
	  "words PROVIDER=HOST, where a provider is what stands before the / of a model")           \
	X(Providers, Variable, VARIABLE, variable, HARNESS_ANY, HARNESS_ANY, "",                    \
	  "the name of a variable other than HOME, USER and LOGNAME")                               \
	X(Providers, Text, LINE, text, HARNESS_ANY, HARNESS_ANY, "p", "a line of text with %p")     \
	X(Providers, Each, LINE, each, HARNESS_ANY, HARNESS_ANY, "ov",                              \
	  "a line of text with %o and %v")                                                          \
	X(Providers, Names, PROVIDER_NAMES, names, HARNESS_ANY, HARNESS_NONE, "",                   \
	  "words PROVIDER=NAME")

enum harness_section {
	HARNESS_SECTION_Harness,
	HARNESS_SECTION_Login,
	HARNESS_SECTION_Home,
	HARNESS_SECTION_Session,
	HARNESS_SECTION_Web,
	HARNESS_SECTION_Network,
	HARNESS_SECTION_Providers,
	HARNESS_SECTIONS,
};

/* Takes what a key's value says into its member: 0, -EINVAL when it is not what is allowed,
 * -EEXIST when a list has it already, -E2BIG when a list would grow too long, -ENOMEM. */
struct harness_key;
typedef int (*harness_setter)(void *section, const struct harness_key *key, const char *value);

struct harness_key {
	enum harness_section section;
	const char *name;
	harness_setter set;
	bool many; /* each one given adds to a list */
	size_t offset;
	unsigned int kinds;
	unsigned int needed;
	const char *specifiers;
	const char *allowed;
};

extern const struct harness_key harness_keys[];
extern const size_t harness_key_count;
const char *harness_section_name(enum harness_section section);

/*
 * What the keys must say together, looked at once a file was read: of a section that is there, or
 * of none when the file lacks it. For harness.c; see harness_check.c.
 */
struct harness_problem {
	enum harness_section section;
	size_t index;	 /* of the login or the session */
	const char *key; /* or NULL */
	char *why;	 /* to be freed; NULL: there is no problem */
};
int harness_check(const struct harness *harness, struct harness_problem *ret_problem);
