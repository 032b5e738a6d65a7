/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Arms: a part of protocol.h, which includes it and states the rules.
 *
 * An Arm is one way of doing the work that an Experiment compares: a Harness with its build and
 * skills, or a Custom runner, the person's own program that drives several. arm_prepare freezes it:
 * what it asked for (ARM_SPEC_FIELDS) and what was found for that on this host (ARM_FIELDS, the
 * canonical form). An Arm's id is the SHA-256 of its canonical form as it is encoded, so that the
 * same things always are the same Arm.
 */
#define ARM_ID_BYTES 64 /* hexadecimal */
#define ARM_NAME_BYTES_MAX 64
/* With what else a sandbox has: keeper/channel.h. */
#define ARM_FILES_MAX 128
#define ARM_HARNESSES_MAX 8
#define ARM_PROVIDERS_MAX 32
#define ARM_CHANGES_MAX 256
#define ARM_OWN_FILES_MAX 256 /* of one Harness */
#define ARM_TOOLCHAINS_FOUND_MAX 2048
#define PROVIDER_NAME_BYTES_MAX 32
#define FAMILY_BYTES_MAX 32
#define ARM_TEXT_BYTES_MAX 2048 /* of a value that a change tells */

/* A file of a Custom runner. What stands below mode is found. */
#define ARM_FILE_FIELDS(X)                                                                         \
	X(source, PATH, REQUIRED, PATH_BYTES_MAX, "on the host")                                   \
	X(path, BYTES, REQUIRED, PATH_BYTES_MAX,                                                   \
	  "inside: beside the runner, or ~/PATH of the fresh home")                                \
	X(mode, UINT, OPTIONAL, 0777, "permission bits; default: as the file has them")            \
	X(size, SIZE, OPTIONAL, 0, "bytes")                                                        \
	X(sha256, STRING, OPTIONAL, 64, "of its content, hexadecimal")                             \
	X(mode_found, BOOL, OPTIONAL, 0, "mode was not asked for: it is the file's own")

/* A Harness of an Arm: its own, or one that a runner drives. What stands below provider is found. */
#define ARM_HARNESS_FIELDS(X)                                                                      \
	X(name, STRING, REQUIRED, HARNESS_NAME_BYTES_MAX, "the Harness")                           \
	X(model, STRING, OPTIONAL, 256, "of a runner: told by its variable, where it has one")     \
	X(provider, STRING, OPTIONAL, PROVIDER_NAME_BYTES_MAX,                                     \
	  "of a runner: signed in by this provider's key instead of its own login")                \
	X(executable, PATH, OPTIONAL, PATH_BYTES_MAX,                                              \
	  "its program, through all symbolic links; absent: there was none")                       \
	X(version, STRING, OPTIONAL, 64, "of the program, where it could be told")                 \
	X(sha256, STRING, OPTIONAL, 64, "of the program, hexadecimal")                             \
	X(endpoint, STRING, OPTIONAL, 2048, "the URL of its provider, where one is set")           \
	X(hosts, STRINGS, OPTIONAL, HOSTS_MAX, "that it needs")                                    \
	X(family, STRING, OPTIONAL, FAMILY_BYTES_MAX, "of the model behind it")                    \
	X(definition, STRING, OPTIONAL, 64,                                                        \
	  "SHA-256 of its .harness file, hexadecimal: of the lines that say something")            \
	X(own_files, PAIRS, OPTIONAL, ARM_OWN_FILES_MAX,                                           \
	  "files and folders of the person's own that its sessions read, and the SHA-256 of each") \
	X(interpreter, PATH, OPTIONAL, PATH_BYTES_MAX,                                             \
	  "of a program that is a script: what it is run by, through all symbolic links")          \
	X(interpreter_sha256, STRING, OPTIONAL, 64, "of that, hexadecimal")

/* A provider whose SDK a runner uses, as the table of them had it. */
#define ARM_PROVIDER_FIELDS(X)                                                                     \
	X(name, STRING, REQUIRED, PROVIDER_NAME_BYTES_MAX, "as asked for")                         \
	X(model, STRING, OPTIONAL, 256,                                                            \
	  "as asked for: decides the family where several are offered")                            \
	X(variable, STRING, OPTIONAL, 128, "that its key is in")                                   \
	X(endpoint, STRING, OPTIONAL, 2048, "the URL that it is reached at")                       \
	X(hosts, STRINGS, OPTIONAL, HOSTS_MAX, "that it needs")                                    \
	X(family, STRING, OPTIONAL, FAMILY_BYTES_MAX, "of the model behind it")                    \
	X(endpoint_variable, STRING, OPTIONAL, 128, "that its endpoint is told by")

/* A folder and all that is in it: names, kinds, permission bits, contents, links. */
#define ARM_FOLDER_FIELDS(X)                                                                       \
	X(path, PATH, REQUIRED, PATH_BYTES_MAX, "on the host")                                     \
	X(sha256, STRING, OPTIONAL, 64, "of all of it, hexadecimal")                               \
	X(files, UINT, OPTIONAL, 0, "how many")                                                    \
	X(bytes, SIZE, OPTIONAL, 0, "of them")

/* What an Arm asks for. Unknown keys in it are refused. */
#define ARM_SPEC_FIELDS(X)                                                                         \
	X(name, STRING, REQUIRED, ARM_NAME_BYTES_MAX, "what it is called")                         \
	X(harness, STRING, OPTIONAL, HARNESS_NAME_BYTES_MAX, "its sessions are this Harness's")    \
	X(model, STRING, OPTIONAL, 256, "of a harness: the model")                                 \
	X(effort, STRING, OPTIONAL, 32, "of a harness: how much effort the model is to make")      \
	X(executable, PATH, OPTIONAL, PATH_BYTES_MAX, "of a harness: its program, absolute")       \
	X(arguments, BYTES_LIST, OPTIONAL, 4096, "of a harness: further arguments of its program") \
	X(command, BYTES_LIST, OPTIONAL, 4096,                                                     \
	  "instead of harness: a Custom runner, program and arguments")                            \
	X(files, ARM_FILES, OPTIONAL, ARM_FILES_MAX, "of a runner: host files that it has")        \
	X(roles, STRINGS, OPTIONAL, 2, "which of trial and grader it serves; default: trial")      \
	X(git_exclude, BYTES_LIST, OPTIONAL, 256, "patterns that git status inside leaves out")    \
	X(harnesses, ARM_HARNESSES, OPTIONAL, ARM_HARNESSES_MAX, "of a runner: that it drives")    \
	X(providers, ARM_PROVIDERS, OPTIONAL, ARM_PROVIDERS_MAX, "of a runner: whose keys it has") \
	X(limits, LIMITS, OPTIONAL, 0, "limits; a launch may ask for less")                        \
	X(environment, PAIRS, OPTIONAL, 1024, "variables to set")                                  \
	X(variables, STRINGS, OPTIONAL, 256, "names of variables that a launch may set")           \
	X(toolchains, STRINGS, OPTIONAL, 16, "names of toolchains to have inside")                 \
	X(skills, PATH, OPTIONAL, PATH_BYTES_MAX, "skills folder, bound read-only")                \
	X(build, PATH, OPTIONAL, PATH_BYTES_MAX, "its build, bound read-only")                     \
	X(secret_files, BYTES_LIST, OPTIONAL, ARM_FILES_MAX,                                       \
	  "of files: sources that are to be mapped although they look like keys or logins")

/* The canonical form. */
#define ARM_FIELDS(X)                                                                                \
	X(form, UINT, REQUIRED, 0, "of this form: 1")                                                \
	X(name, STRING, REQUIRED, ARM_NAME_BYTES_MAX, "as asked")                                    \
	X(harness, STRING, OPTIONAL, HARNESS_NAME_BYTES_MAX,                                         \
	  "as asked; found: the one of harnesses")                                                   \
	X(model, STRING, OPTIONAL, 256, "as asked")                                                  \
	X(effort, STRING, OPTIONAL, 32, "as asked")                                                  \
	X(arguments, BYTES_LIST, OPTIONAL, 4096, "as asked")                                         \
	X(command, BYTES_LIST, OPTIONAL, 4096, "as asked")                                           \
	X(files, ARM_FILES, OPTIONAL, ARM_FILES_MAX, "by path")                                      \
	X(roles, STRINGS, REQUIRED, 2, "trial before grader")                                        \
	X(git_exclude, BYTES_LIST, OPTIONAL, 256, "as asked")                                        \
	X(harnesses, ARM_HARNESSES, OPTIONAL, ARM_HARNESSES_MAX, "by name")                          \
	X(providers, ARM_PROVIDERS, OPTIONAL, ARM_PROVIDERS_MAX, "by name")                          \
	X(limits, LIMITS, OPTIONAL, 0, "as asked")                                                   \
	X(environment, PAIRS, OPTIONAL, 1024, "by name")                                             \
	X(variables, STRINGS, OPTIONAL, 256, "by name")                                              \
	X(toolchains, STRINGS, OPTIONAL, 16, "as asked")                                             \
	X(skills, ARM_FOLDER, OPTIONAL, 0, "as found")                                               \
	X(build, ARM_FOLDER, OPTIONAL, 0, "as found")                                                \
	X(families, STRINGS, OPTIONAL, 64, "of its Harnesses and providers, each once, by name")     \
	X(toolchains_found, PAIRS, OPTIONAL, ARM_TOOLCHAINS_FOUND_MAX,                               \
	  "what its toolchains are: of each the SHA-256 of its section, the paths that are visible " \
	  "for it, and its programs with the SHA-256 of each")

/* One thing that differs. */
#define ARM_CHANGE_FIELDS(X)                                                                       \
	X(what, BYTES, REQUIRED, ARM_TEXT_BYTES_MAX,                                               \
	  "a key of an Arm, and which of it: harnesses.codex.sha256, …")                           \
	X(was, BYTES, OPTIONAL, ARM_TEXT_BYTES_MAX, "before, or of the first; absent: nothing")    \
	X(is, BYTES, OPTIONAL, ARM_TEXT_BYTES_MAX, "now, or of the second; absent: nothing")

/* An Arm, as it is told. */
#define ARM_VIEW_FIELDS(X)                                                                           \
	X(id, STRING, REQUIRED, ARM_ID_BYTES, "what a launch names")                                 \
	X(name, STRING, REQUIRED, ARM_NAME_BYTES_MAX, "what it is called")                           \
	X(prepared_at, TIME, REQUIRED, 0, "for the first time")                                      \
	X(existed, BOOL, OPTIONAL, 0, "of arm_prepare: it had been prepared before")                 \
	X(missing, STRINGS, OPTIONAL, 64,                                                            \
	  "what was absent when it was frozen: its launches are void for that; of arm_verify: what " \
	  "is absent now, logins and keys too")                                                      \
	X(warnings, STRINGS, OPTIONAL, 64, "of arm_prepare: what will hardly do what was meant")     \
	X(families, STRINGS, OPTIONAL, 64, "of its models")                                          \
	X(arm, ARM, OPTIONAL, 0, "all of it (not in arm_list)")                                      \
	X(changes, ARM_CHANGES, OPTIONAL, ARM_CHANGES_MAX, "of arm_verify: since it was frozen")     \
	X(verified, BOOL, OPTIONAL, 0, "of arm_verify: nothing has changed")

/* An id may be shortened to its first 8 or more digits where that names one Arm alone. */
#define ARM_PREPARE_FIELDS(X) X(spec, ARM_SPEC, REQUIRED, 0, "what is to be frozen")
#define ARM_LIST_FIELDS(X)                                                                         \
	X(after, STRING, OPTIONAL, ARM_ID_BYTES, "cursor: only what comes behind this one")        \
	X(limit, UINT, OPTIONAL, LIST_PAGE_MAX, "most Arms in the page; default 50")
#define ARM_SHOW_FIELDS(X) X(id, STRING, REQUIRED, ARM_ID_BYTES, "the Arm")
#define ARM_VERIFY_FIELDS(X) X(id, STRING, REQUIRED, ARM_ID_BYTES, "the Arm")
#define ARM_DIFF_FIELDS(X)                                                                         \
	X(id, STRING, REQUIRED, ARM_ID_BYTES, "the first Arm")                                     \
	X(other, STRING, REQUIRED, ARM_ID_BYTES, "the second")

#define ARM_LIST_REPLY_FIELDS(X)                                                                   \
	X(arms, ARM_VIEWS, REQUIRED, LIST_PAGE_MAX, "by name, then by id")                         \
	X(cursor, STRING, OPTIONAL, ARM_ID_BYTES, "there is more: ask again with after=cursor")
#define ARM_DIFF_REPLY_FIELDS(X)                                                                   \
	X(id, STRING, REQUIRED, ARM_ID_BYTES, "the first, whole")                                  \
	X(other, STRING, REQUIRED, ARM_ID_BYTES, "the second, whole")                              \
	X(changes, ARM_CHANGES, REQUIRED, ARM_CHANGES_MAX, "empty: the same")
#define ARM_REMOVE_FIELDS(X) X(id, STRING, REQUIRED, ARM_ID_BYTES, "the Arm")
#define ARM_REMOVE_REPLY_FIELDS(X)                                                                 \
	X(id, STRING, REQUIRED, ARM_ID_BYTES, "the Arm, whole")                                    \
	X(name, STRING, OPTIONAL, ARM_NAME_BYTES_MAX,                                              \
	  "what it was called; absent: what was kept of it was damaged")                           \
	X(files, UINT, REQUIRED, 0, "contents that went with it: no other Arm names them")         \
	X(bytes, SIZE, REQUIRED, 0, "of them")                                                     \
	X(warnings, STRINGS, OPTIONAL, 64, "what could not be removed with it")
