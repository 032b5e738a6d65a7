/* SPDX-License-Identifier: MIT */
#include "build.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text_file.h"

/*
 * What the system of this host looks like: /usr and the folders or links that distributions put
 * beside it, and the few things of /etc that programs in /usr cannot do without. Everything that is
 * looked at leaves a stamp, so that an upgrade of the host is seen by the next Trials (cache.c).
 *
 * A mount costs 0.13 ms of each launch and a copied file 0.02, so small files are copied, and
 * only folders and large files are bound. Certificates are found through whole chains of links:
 * what a chain passes is recreated, and what it ends in is brought along where it is neither in
 * /usr nor in a folder that is bound anyway. Private keys (/etc/ssl/private) are never touched.
 * Only what belongs to the owner of /usr is taken: the plan's promise of system binds.
 */

#define COPY_BYTES_MAX (1u << 20)
#define CERTIFICATES_OUTSIDE_MAX 64

struct reader {
	struct system_facts *facts;
	struct stamps *stamps;
	uid_t owner;	      /* of the system: root, or what root is mapped to */
	unsigned int outside; /* certificates that were brought along */
};

static bool in_system_bind(const struct system_facts *facts, const char *path)
{
	for (size_t i = 0; i < facts->operation_count; i++)
		if (facts->operations[i].type == PLAN_SYSTEM_BIND &&
		    path_within(path, facts->operations[i].destination))
			return true;
	return false;
}

static bool has(const struct system_facts *facts, const char *path)
{
	for (size_t i = 0; i < facts->operation_count; i++)
		if (!strcmp(facts->operations[i].destination, path))
			return true;
	return false;
}

static struct plan_operation *add(struct reader *reader, enum plan_operation_type type,
				  const char *destination, const char *source)
{
	return operation_add(&reader->facts->operations, &reader->facts->operation_count, type,
			     destination, source);
}

static int add_copy(struct reader *reader, const char *path, char *data, size_t size)
{
	struct plan_operation *operation = add(reader, PLAN_FILE, path, NULL);

	if (!operation) {
		free(data);
		return -ENOMEM;
	}
	return plan_file_new(&operation->file, data, size);
}

/* Looks at a path through its links, and at what it is. -ENOENT when it is not there. */
static int look(struct reader *reader, const char *path, struct place *ret_place)
{
	_cleanup_free_ char *rest = NULL;
	int r = place_open_existing(ret_place, path, &rest, reader->stamps);

	if (r < 0 || rest)
		return r < 0 ? r : -ENOENT;
	return stamps_add(reader->stamps, ret_place->canonical, ret_place->fd, true);
}

/* A file of the host's that is read by its path; NULL when it cannot be. */
static int read_text(struct reader *reader, const char *path, char **ret_text)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	int r = look(reader, path, &place);

	if (r == 0)
		r = text_file_read_at(place.fd, COPY_BYTES_MAX, ret_text, NULL);
	if (r < 0)
		*ret_text = NULL;
	return r == -ENOMEM ? r : 0;
}

static int add_links(struct reader *reader, const struct place *place)
{
	for (size_t i = 0; i < place->link_count; i++) {
		const struct place_link *link = &place->links[i];

		if (in_system_bind(reader->facts, link->location) ||
		    has(reader->facts, link->location) || destination_reserved(link->location))
			continue;
		if (!add(reader, PLAN_SYMLINK, link->location, link->text))
			return -ENOMEM;
	}
	return 0;
}

/* Brings a path along, with the links on the way to it. What cannot be had is left out. */
static int add_path(struct reader *reader, const char *path)
{
	_cleanup_(place_done) struct place place = PLACE_INIT;
	char *data = NULL;
	size_t size;
	int r;

	r = look(reader, path, &place);
	if (r == -ENOENT || (r == 0 && place.uid != reader->owner))
		return 0;
	if (r == 0)
		r = add_links(reader, &place);
	if (r < 0)
		return r;
	if (in_system_bind(reader->facts, place.canonical) || has(reader->facts, place.canonical) ||
	    destination_reserved(place.canonical))
		return 0;
	if (S_ISDIR(place.mode))
		return add(reader, PLAN_SYSTEM_BIND, place.canonical, place.canonical) ? 0
										       : -ENOMEM;
	r = S_ISREG(place.mode) ? text_file_read_at(place.fd, COPY_BYTES_MAX, &data, &size)
				: -EACCES;
	if (r == 0)
		return add_copy(reader, place.canonical, data, size);
	if (r == -EFBIG)
		return add(reader, PLAN_SYSTEM_BIND, place.canonical, place.canonical) ? 0
										       : -ENOMEM;
	return r == -ENOMEM ? r : 0;
}

/* Whether a link's text can lead out of its own folder and of /usr. */
static bool leads_away(const char *text)
{
	if (!strchr(text, '/'))
		return false;
	return strncmp(text, "/usr/", 5) != 0 || strstr(text, "/..");
}

/* Links of a certificate folder whose targets would be missing inside. */
static int add_certificates(struct reader *reader, const char *folder)
{
	DIR *dir;
	struct dirent *entry;
	int r = 0;

	r = add_path(reader, folder);
	if (r < 0)
		return r;
	dir = opendir(folder);
	if (!dir)
		return 0;
	while (r == 0 && reader->outside < CERTIFICATES_OUTSIDE_MAX && (entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;
		char text[PATH_BYTES_MAX + 1];
		size_t before = reader->facts->operation_count;
		ssize_t size;

		if (entry->d_type != DT_LNK)
			continue;
		size = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text) - 1);
		if (size < 0)
			continue;
		text[size] = '\0';
		if (!leads_away(text))
			continue;
		if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
			r = -ENOMEM;
		else
			r = add_path(reader, path);
		reader->outside += reader->facts->operation_count > before;
	}
	closedir(dir);
	return r;
}

static int text_append(char **text, size_t *size, const char *more)
{
	size_t length = strlen(more);
	char *larger = realloc(*text, *size + length + 1);

	if (!larger)
		return -ENOMEM;
	memcpy(larger + *size, more, length + 1);
	*text = larger;
	*size += length;
	return 0;
}

static int is_conf(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && !strcmp(entry->d_name + length - 5, ".conf");
}

/* The linker's folder of further files, each after the other. */
static int append_linker_parts(struct reader *reader, char **text, size_t *size)
{
	_cleanup_(place_done) struct place folder = PLACE_INIT;
	struct dirent **entries = NULL;
	int count, r;

	r = look(reader, "/etc/ld.so.conf.d", &folder);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	count = scandir(folder.canonical, &entries, is_conf, alphasort);
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL, *part = NULL;

		if (r == 0 && asprintf(&path, "%s/%s", folder.canonical, entries[i]->d_name) < 0)
			r = -ENOMEM;
		if (r == 0)
			r = read_text(reader, path, &part);
		if (r == 0 && part)
			r = text_append(text, size, part);
		if (r == 0 && *size > 0 && (*text)[*size - 1] != '\n')
			r = text_append(text, size, "\n");
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* What a linker reads: the file and those it includes, as one instead of a mount. */
static int add_linker_configuration(struct reader *reader)
{
	_cleanup_free_ char *text = NULL, *own = NULL;
	char *rest, *line;
	size_t size = 0;
	int r;

	r = read_text(reader, "/etc/ld.so.conf", &own);
	if (r < 0 || !own)
		return r;
	r = text_append(&text, &size, "");
	rest = own;
	while (r == 0 && (line = strsep(&rest, "\n")))
		if (line[0] && strncmp(line, "include", strlen("include")) != 0) {
			r = text_append(&text, &size, line);
			if (r == 0)
				r = text_append(&text, &size, "\n");
		}
	if (r == 0)
		r = append_linker_parts(reader, &text, &size);
	return r == 0 ? add_copy(reader, "/etc/ld.so.conf", steal(&text), size) : r;
}

/* /bin, /lib64, …: links into /usr where the distribution merged them, folders where not. */
static int add_root_folder(struct reader *reader, const char *path)
{
	char text[PATH_BYTES_MAX + 1];
	struct stat st;
	ssize_t size;
	int r = stamps_add_path(reader->stamps, path, true);

	if (r < 0 || lstat(path, &st) < 0 || st.st_uid != reader->owner)
		return r;
	if (S_ISDIR(st.st_mode))
		return add(reader, PLAN_SYSTEM_BIND, path, path) ? 0 : -ENOMEM;
	if (!S_ISLNK(st.st_mode))
		return 0;
	size = readlink(path, text, sizeof(text) - 1);
	if (size < 0)
		return 0;
	text[size] = '\0';
	return add(reader, PLAN_SYMLINK, path, text) ? 0 : -ENOMEM;
}

static int read_root(struct reader *reader)
{
	static const char *const folders[] = {"/usr",	"/bin",	  "/sbin",  "/lib",
					      "/lib32", "/lib64", "/libx32"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++)
		r = add_root_folder(reader, folders[i]);
	return r;
}

static int read_etc(struct reader *reader)
{
	static const char *const certificates[] = {"/etc/ssl/certs", "/etc/pki/tls/certs",
						   "/etc/pki/ca-trust/extracted",
						   "/etc/ca-certificates/extracted"};
	static const char *const paths[] = {
		"/etc/alternatives",	 "/etc/crypto-policies/back-ends",
		"/etc/ssl/openssl.cnf",	 "/etc/ssl/cert.pem",
		"/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
		"/etc/ld.so.cache",	 "/etc/localtime",
		"/etc/timezone",	 "/etc/os-release"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(certificates); i++)
		r = add_certificates(reader, certificates[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++)
		r = add_path(reader, paths[i]);
	return r == 0 ? add_linker_configuration(reader) : r;
}

/* What lists the person's keys by name; the keyring is the uid's, whatever the namespace. */
static int read_proc(struct reader *reader)
{
	static const char *const files[] = {"/proc/key-users", "/proc/keys"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (access(files[i], F_OK) == 0 && !add(reader, PLAN_MASK, files[i], NULL))
			return -ENOMEM;
	return 0;
}

int system_facts_read(struct system_facts *ret_facts, struct stamps *stamps)
{
	_cleanup_(system_facts_done) struct system_facts facts = {0};
	struct reader reader = {.facts = &facts, .stamps = stamps};
	struct stat st;
	int r;

	if (stat("/usr", &st) < 0)
		return -errno;
	reader.owner = st.st_uid;
	r = read_root(&reader);
	if (r == 0)
		r = read_etc(&reader);
	if (r == 0)
		r = read_proc(&reader);
	/* Through their links, as they are now; without them the sandbox's own stand. */
	if (r == 0)
		r = read_text(&reader, "/etc/resolv.conf", &facts.resolv_conf);
	if (r == 0)
		r = read_text(&reader, "/etc/hosts", &facts.hosts);
	if (r < 0)
		return r;
	*ret_facts = facts;
	facts = (struct system_facts){0};
	return 0;
}

void system_facts_done(struct system_facts *facts)
{
	operations_free(facts->operations, facts->operation_count);
	free(facts->resolv_conf);
	free(facts->hosts);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < ROOT_FILES; k++)
			plan_file_unref(facts->root[i][k]);
	*facts = (struct system_facts){0};
}
