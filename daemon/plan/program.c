/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness_words.h"
#include "json_text.h"
#include "path_pattern.h"
#include "plan/plan.h"
#include "text_file.h"
#include "base/text.h"

/*
 * Where a Harness's program is. A launcher is often a symbolic link, two or more links deep, into
 * the folder of one version, or a script of a package manager in front of the binary: the chain is
 * followed to its end, by descriptor (place.c), and the release is told from there, not from where
 * the launcher lies.
 *
 * Nothing is executed here. What it says of its version is read from a file of its release or from
 * its name; a program that is asked itself would write to the person's own home.
 */

#define METADATA_BYTES_MAX (1024u * 1024u)

struct search {
	const struct program_request *request;
	FILE *looked; /* where, for a refusal; NULL: none is told */
	bool any;
};

static int unavailable(struct fault *fault, const struct harness *harness, const char *format, ...)
	_printf_(3, 4);

static int unavailable(struct fault *fault, const struct harness *harness, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = text_vformat(format, arguments);
	va_end(arguments);
	if (!text)
		return -ENOMEM;
	return fault_void(fault, CAUSE_session_unavailable, "%s: %s", harness->name, text);
}

static bool is_lack(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

static bool is_executable(const struct place *place)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	return S_ISREG(place->mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

static void note_look(struct search *search, const char *path)
{
	_cleanup_free_ char *shown = NULL;

	if (!search->looked)
		return;
	shown = display(path);
	fprintf(search->looked, "%s%s", search->any ? ", " : "", shown ? shown : "?");
	search->any = true;
}

/* In each of the folders that colons separate: absolute ones, and with search those of the home. */
static int try_folders(struct search *search, const char *folders, const char *name,
		       char **ret_path, struct place *ret_place)
{
	_cleanup_free_ char *copy = folders ? strdup(folders) : NULL;
	char *rest = copy, *folder;

	if (folders && !copy)
		return -ENOMEM;
	while (copy && (folder = strsep(&rest, ":"))) {
		bool in_home = search && folder[0] == '~' && folder[1] == '/';
		_cleanup_free_ char *path = NULL;
		int r;

		if (folder[0] != '/' && !in_home)
			continue;
		if (asprintf(&path, "%s%s/%s", in_home ? search->request->home : "",
			     folder + in_home, name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = path_try(path, is_executable, ret_place);
		if (r == 1 && ret_path)
			*ret_path = steal(&path);
		if (r != 0)
			return r;
		if (search)
			note_look(search, path);
	}
	return 0;
}

/* --- Patterns ------------------------------------------------------------------------------------- */

static int try_installed(struct search *search, char **ret_path, struct place *ret_place)
{
	const struct text_list *patterns = &search->request->harness->program.installed;
	int r = 0;

	for (size_t i = 0; r == 0 && i < patterns->count; i++) {
		const char *pattern = patterns->items[i];
		bool in_home = pattern[0] == '~';

		r = path_newest(in_home ? search->request->home : "", pattern + in_home,
				is_executable, ret_path, ret_place);
		if (r == 0)
			note_look(search, pattern);
	}
	return r;
}

/* --- The file ------------------------------------------------------------------------------------- */

static int words_join(const struct text_list *words, char **ret_text)
{
	size_t size = 0;
	FILE *file = open_memstream(ret_text, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < words->count; i++)
		fprintf(file, "%s%s", i ? " " : "", words->items[i]);
	return fclose(file) == 0 ? 0 : -ENOMEM;
}

static int refuse_missing(const struct harness *harness, const char *looked, struct fault *fault)
{
	_cleanup_free_ char *install = NULL;
	int r = unavailable(fault, harness, "there is no program \"%s\"; looked for at %s",
			    harness->program.executable, looked[0] ? looked : "no place at all");

	if (r < 0 || harness->program.install.count == 0)
		return r < 0 ? r
			     : fault_hint(fault, "install it, or name it: --executable PATH, or "
						 "Path= in the section Harness of trialsd.conf");
	r = words_join(&harness->program.install, &install);
	return r < 0 ? r : fault_hint(fault, "%s", install);
}

static int find_file(const struct program_request *request, char **ret_path,
		     struct place *ret_place, struct fault *fault)
{
	const char *name = request->harness->program.executable;
	_cleanup_free_ char *looked = NULL;
	struct search search = {.request = request};
	size_t size = 0;
	int r;

	search.looked = open_memstream(&looked, &size);
	if (!search.looked)
		return -ENOMEM;
	r = try_folders(&search, request->folders, name, ret_path, ret_place);
	if (r == 0)
		r = try_folders(&search, request->path, name, ret_path, ret_place);
	if (r == 0)
		r = try_installed(&search, ret_path, ret_place);
	if (fclose(search.looked) != 0)
		return -ENOMEM;
	return r == 0 ? refuse_missing(request->harness, looked, fault) : r < 0 ? r : 0;
}

static int named_file(const struct program_request *request, char **ret_path,
		      struct place *ret_place, struct fault *fault)
{
	_cleanup_fault_ struct fault why = FAULT_INIT;
	_cleanup_free_ char *shown = display(request->executable);
	int r = place_open(ret_place, "executable", request->executable, NULL, &why);

	if (r == FAULT)
		return unavailable(fault, request->harness, "%s", why.message);
	if (r < 0)
		return r;
	if (!is_executable(ret_place))
		return unavailable(fault, request->harness,
				   "executable: %s is not a program that you may execute", shown);
	*ret_path = strdup(request->executable);
	return *ret_path ? 0 : -ENOMEM;
}

/*
 * The launcher that leads to the file which a launch names by its own path, as an Arm has it; NULL:
 * none of those that would be found without that does.
 */
static int find_launcher(const struct program_request *request, const struct place *file,
			 char **ret_path)
{
	const char *name = request->harness->program.executable;
	const char *const folders[] = {request->folders, request->path};
	const struct text_list *patterns = &request->harness->program.installed;

	for (size_t i = 0; i < ARRAY_SIZE(folders) + patterns->count; i++) {
		_cleanup_(place_done) struct place place = PLACE_INIT;
		struct search search = {.request = request};
		_cleanup_free_ char *path = NULL;
		int r;

		if (i < ARRAY_SIZE(folders)) {
			r = try_folders(&search, folders[i], name, &path, &place);
		} else {
			const char *pattern = patterns->items[i - ARRAY_SIZE(folders)];
			bool in_home = pattern[0] == '~';

			r = path_newest(in_home ? request->home : "", pattern + in_home,
					is_executable, &path, &place);
		}
		if (r < 0)
			return r;
		if (r == 0 || place.device != file->device || place.inode != file->inode)
			continue;
		*ret_path = steal(&path);
		return 0;
	}
	return 0;
}

/* 1: it begins with #!; 0: not, or it cannot be read. */
static int is_script(const struct place *place)
{
	_cleanup_close_ int fd = -1;
	char path[32], begin[2];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return is_lack(-errno) ? -errno : 0;
	return read(fd, begin, 2) == 2 && begin[0] == '#' && begin[1] == '!';
}

static int folder_of(const char *path, unsigned int levels, char **ret_folder)
{
	_cleanup_free_ char *folder = strdup(path);

	if (!folder)
		return -ENOMEM;
	for (unsigned int i = 0; i < levels; i++) {
		char *slash = strrchr(folder, '/');

		if (!slash || slash == folder)
			return -ENOENT;
		*slash = '\0';
	}
	*ret_folder = steal(&folder);
	return 0;
}

/* The binary that a script of a package manager would start. */
static int take_native(const struct program_request *request, struct program *program)
{
	const struct text_list *patterns = &request->harness->program.native;
	_cleanup_free_ char *base = NULL;
	int r = folder_of(program->file.canonical, 1, &base);

	if (r == -ENOENT)
		return 0;
	for (size_t i = 0; r == 0 && i < patterns->count; i++) {
		_cleanup_(place_done) struct place place = PLACE_INIT;
		_cleanup_free_ char *whole = NULL, *path = NULL;

		if (asprintf(&whole, "%s/", base) < 0) {
			whole = NULL;
			return -ENOMEM;
		}
		r = path_newest(whole, patterns->items[i], is_executable, &path, &place);
		if (r != 1)
			continue;
		place_done(&program->file);
		program->file = place;
		place = PLACE_INIT;
	}
	return r < 0 ? r : 0;
}

/* --- The interpreter ------------------------------------------------------------------------------ */

int program_version_of_name(const char *name, char **ret_version)
{
	*ret_version = NULL;
	for (const char *at = name; *at; at++) {
		size_t length = strspn(at, "0123456789.");
		bool begins = at == name || strchr("-_v@", at[-1]);

		while (length > 0 && at[length - 1] == '.')
			length--;
		if (!begins || length < 3 || length > PROGRAM_VERSION_BYTES_MAX || at[0] == '.' ||
		    !memchr(at, '.', length))
			continue;
		*ret_version = strndup(at, length);
		return *ret_version ? 0 : -ENOMEM;
	}
	return 0;
}

/* Whether the path of an interpreter says that it is too old. */
static int is_too_old(const struct place *place, const char *least, bool *ret_old)
{
	_cleanup_free_ char *copy = strdup(place->canonical);
	char *rest = copy, *name;

	*ret_old = false;
	if (!copy)
		return -ENOMEM;
	while (least && (name = strsep(&rest, "/"))) {
		_cleanup_free_ char *version = NULL;
		int r = program_version_of_name(name, &version);

		if (r < 0)
			return r;
		if (version)
			*ret_old = harness_version_compare(version, least) < 0;
	}
	return 0;
}

/* The one that was frozen, while it is a program at this very path. */
static int frozen_interpreter(const struct program_request *request, struct program *program)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	int r = request->interpreter ? path_try(request->interpreter, is_executable, &place) : 0;

	if (r != 1 || strcmp(place.canonical, request->interpreter) != 0)
		return r < 0 ? r : 0;
	program->interpreter = place;
	place = PLACE_INIT;
	return 1;
}

/* A package manager puts a script's interpreter beside the script's own launcher. */
static int find_interpreter(const struct program_request *request, const char *found,
			    struct program *program, struct fault *fault)
{
	const struct harness_program *wanted = &request->harness->program;
	_cleanup_free_ char *beside = NULL, *launcher = NULL, *beside_launcher = NULL;
	int r = frozen_interpreter(request, program);

	if (r != 0)
		return r < 0 ? r : 0;
	r = folder_of(found, 1, &beside);
	if ((r == 0 || r == -ENOENT) && request->executable)
		r = find_launcher(request, &program->file, &launcher);
	if (r == 0 && launcher)
		r = folder_of(launcher, 1, &beside_launcher);
	if (r < 0 && r != -ENOENT)
		return r;
	const char *const places[] = {beside, beside_launcher, request->folders, request->path,
				      "/usr/local/bin:/usr/bin:/bin"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_(place_done) struct place place = PLACE_INIT;
		bool old = false;

		r = try_folders(NULL, places[i], wanted->interpreter, NULL, &place);
		if (r == 1)
			r = is_too_old(&place, wanted->interpreter_version, &old);
		else if (r == 0)
			continue;
		if (r < 0)
			return r;
		if (old)
			continue;
		program->interpreter = place;
		place = PLACE_INIT;
		return 0;
	}
	return unavailable(
		fault, request->harness,
		"its program is a script for %s%s%s, which is neither beside it nor in PATH",
		wanted->interpreter, wanted->interpreter_version ? " " : "",
		wanted->interpreter_version ? wanted->interpreter_version : "");
}

/* --- Release and version -------------------------------------------------------------------------- */

static int find_release(const struct program_request *request, struct program *program,
			struct fault *fault)
{
	unsigned int levels = request->harness->program.release;
	_cleanup_fault_ struct fault why = FAULT_INIT;
	_cleanup_free_ char *folder = NULL;
	int r;

	if (levels == 0)
		return 0;
	r = folder_of(program->file.canonical, levels, &folder);
	if (r == -ENOENT) {
		_cleanup_free_ char *shown = display(program->file.canonical);

		return unavailable(fault, request->harness,
				   "%s: its release would be the folder %u above it, and there is "
				   "no such folder",
				   shown, levels);
	}
	if (r < 0)
		return r;
	r = place_open(&program->release, "release", folder, NULL, &why);
	return r == FAULT ? unavailable(fault, request->harness, "%s", why.message) : r;
}

static int version_of_file(const struct harness_program *harness, struct program *program)
{
	int folder = program->release.fd >= 0 ? program->release.fd : program->file.parent_fd;
	char version[PROGRAM_VERSION_BYTES_MAX + 1];
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	size_t size = 0;
	int r;

	if (!harness->version_file || folder < 0)
		return 0;
	r = place_walk(folder, harness->version_file, &fd);
	if (r == 0)
		r = text_file_read_at(fd, METADATA_BYTES_MAX, &text, &size);
	if (r == 0)
		r = json_text_find(text, size, harness->version_path, version, sizeof(version));
	if (r == 0 && plain_word_valid(version, PROGRAM_VERSION_BYTES_MAX)) {
		program->version = strdup(version);
		r = program->version ? 0 : -ENOMEM;
	}
	return is_lack(r) ? r : 0;
}

static int find_version(const struct program_request *request, struct program *program)
{
	const struct place *places[] = {&program->file, &program->release};
	int r = version_of_file(&request->harness->program, program);

	for (size_t i = 0; r == 0 && !program->version && i < ARRAY_SIZE(places); i++)
		if (places[i]->fd >= 0)
			r = program_version_of_name(strrchr(places[i]->canonical, '/') + 1,
						    &program->version);
	return r;
}

static int find_all(struct program *program, const struct program_request *request,
		    struct fault *fault)
{
	const struct harness_program *wanted = &request->harness->program;
	_cleanup_free_ char *found = NULL;
	int script, r;

	r = request->executable ? named_file(request, &found, &program->file, fault)
				: find_file(request, &found, &program->file, fault);
	if (r != 0)
		return r;
	script = is_script(&program->file);
	if (script == 1 && wanted->native.count > 0) {
		r = take_native(request, program);
		script = r < 0 ? r : is_script(&program->file);
	}
	if (script < 0)
		return script;
	if (script && wanted->interpreter)
		r = find_interpreter(request, found ? found : program->file.canonical, program,
				     fault);
	if (r == 0)
		r = find_release(request, program, fault);
	return r == 0 ? find_version(request, program) : r;
}

int program_find(struct program *ret_program, const struct program_request *request,
		 struct fault *ret_fault)
{
	int r;

	*ret_program = PROGRAM_INIT;
	r = find_all(ret_program, request, ret_fault);
	if (r != 0)
		program_done(ret_program);
	return r;
}

void program_done(struct program *program)
{
	place_done(&program->file);
	place_done(&program->release);
	place_done(&program->interpreter);
	free(program->version);
	*program = PROGRAM_INIT;
}
