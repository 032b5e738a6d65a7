/* SPDX-License-Identifier: MIT */

/*
 * Reading the machine. The signs are those that systemd-detect-virt and the distributions' own
 * documentation name: a file that the container's engine leaves, a line of /proc that only one
 * kernel has, a switch below /proc/sys. AppArmor's loaded profiles can be read by root alone, so
 * the files they are loaded from are looked at instead.
 */
#include "doctor/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/mem.h"

#define PROFILE_BYTES_MAX (256u * 1024u)
#define PROFILE_FOLDER "/etc/apparmor.d"

/* gVisor's kernel gives this line and no other. */
#define GVISOR_VERSION "#1 SMP Sun Jan 10 15:06:54 PST 2016"

static int read_text(const char *root, const char *path, char *text, size_t size)
{
	char name[PATH_MAX];
	size_t used = 0;
	ssize_t n = 1;
	int fd;

	snprintf(name, sizeof(name), "%s%s", root, path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	while (n > 0 && used < size - 1) {
		n = read(fd, text + used, size - 1 - used);
		if (n > 0)
			used += (size_t)n;
	}
	text[used] = '\0';
	close(fd);
	return n < 0 ? -EIO : 0;
}

static bool is_there(const char *root, const char *path, struct stat *ret_stat)
{
	struct stat st;
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s%s", root, path);
	return stat(name, ret_stat ? ret_stat : &st) == 0;
}

static long read_switch(const char *root, const char *path)
{
	char text[32], *end;
	long value;

	if (read_text(root, path, text, sizeof(text)) < 0)
		return -1;
	value = strtol(text, &end, 10);
	return end == text || value < 0 ? -1 : value;
}

/* Containers. */

static void set_container(struct host_facts *facts, enum container container, const char *name)
{
	facts->container = container;
	snprintf(facts->container_name, sizeof(facts->container_name), "%s", name);
}

static bool is_wsl(struct host_facts *facts, const char *root)
{
	char release[128];

	if (read_text(root, "/proc/sys/kernel/osrelease", release, sizeof(release)) < 0)
		return false;
	/* "4.4.0-19041-Microsoft" and "5.15.90.1-microsoft-standard-WSL2". */
	if (strstr(release, "WSL2") || strstr(release, "microsoft"))
		set_container(facts, CONTAINER_WSL2, "WSL 2");
	else if (strstr(release, "Microsoft"))
		set_container(facts, CONTAINER_WSL1, "WSL 1");
	return facts->container != CONTAINER_NONE;
}

static void find_container(struct host_facts *facts, const char *root)
{
	char text[256] = "";

	if (read_text(root, "/proc/version", text, sizeof(text)) == 0 &&
	    (strstr(text, GVISOR_VERSION) || strcasestr(text, "gvisor")))
		set_container(facts, CONTAINER_GVISOR, "gVisor");
	else if (is_there(root, "/run/.containerenv", NULL))
		set_container(facts, CONTAINER_PODMAN, "a Podman container");
	else if (is_there(root, "/var/run/secrets/kubernetes.io", NULL) ||
		 is_there(root, "/run/secrets/kubernetes.io", NULL))
		set_container(facts, CONTAINER_KUBERNETES, "a Kubernetes pod");
	else if (is_there(root, "/.dockerenv", NULL))
		set_container(facts, CONTAINER_DOCKER, "a Docker container");
	else if (is_wsl(facts, root))
		return;
	else if (read_text(root, "/run/systemd/container", text, sizeof(text)) == 0 && text[0]) {
		char name[64];

		text[strcspn(text, "\n")] = '\0';
		snprintf(name, sizeof(name), "a container (%.40s)", text);
		set_container(facts, strncmp(text, "lxc", 3) == 0 ? CONTAINER_LXC : CONTAINER_OTHER,
			      name);
	}
}

/* AppArmor's profiles. */

/* Whether a pattern of a profile, with its {a,b}, @{bin} and *, stands for this path. */
static bool pattern_matches(const char *pattern, const char *path, unsigned int depth)
{
	char expanded[512];
	const char *open, *close, *at;

	if (strncmp(pattern, "@{bin}", 6) == 0) {
		snprintf(expanded, sizeof(expanded), "/{usr/,}{s,}bin%s", pattern + 6);
		return depth > 0 && pattern_matches(expanded, path, depth - 1);
	}
	open = strchr(pattern, '{');
	close = open ? strchr(open, '}') : NULL;
	if (!close || depth == 0)
		return fnmatch(pattern, path, FNM_PATHNAME) == 0;
	for (at = open + 1; at <= close; at += strcspn(at, ",}") + 1) {
		snprintf(expanded, sizeof(expanded), "%.*s%.*s%s", (int)(open - pattern), pattern,
			 (int)strcspn(at, ",}"), at, close + 1);
		if (pattern_matches(expanded, path, depth - 1))
			return true;
	}
	return false;
}

/* `profile [NAME] PATH flags=(…) {` or `PATH {`: the path of a bwrap. False: another line. */
static bool line_names_bwrap(const char *line, char *ret_path, size_t size)
{
	size_t length = strcspn(line, "\n");
	char copy[512], *word, *rest = NULL;

	snprintf(copy, sizeof(copy), "%.*s", (int)(length < 500 ? length : 500), line);
	word = strtok_r(copy, " \t", &rest);
	if (!word || (strcmp(word, "profile") != 0 && word[0] != '/' && word[0] != '@'))
		return false;
	for (; word && word[0] != '#'; word = strtok_r(NULL, " \t", &rest)) {
		size_t end = strlen(word);

		if ((word[0] != '/' && word[0] != '@') || end < 6)
			continue;
		if (strcmp(word + end - 6, "/bwrap") != 0)
			continue;
		snprintf(ret_path, size, "%s", word);
		return strchr(line, '{') != NULL;
	}
	return false;
}

static enum apparmor_profile judge_profile(const char *text, const char *pattern, const char *path)
{
	if (!pattern_matches(pattern, path, 6))
		return PROFILE_OTHER_PATH;
	/* The vendors' own: what bwrap executes is put below a profile without capabilities. */
	if (strstr(text, "unpriv_bwrap") || !(strstr(text, "userns") || strstr(text, "unconfined")))
		return PROFILE_PARTIAL;
	return PROFILE_WHOLE;
}

static void take_profile(struct host_facts *facts, const char *root, const char *name,
			 const char *bwrap_path)
{
	_cleanup_free_ char *text = malloc(PROFILE_BYTES_MAX);
	char path[PATH_MAX], pattern[256];
	const char *line;

	snprintf(path, sizeof(path), PROFILE_FOLDER "/disable/%s", name);
	if (!text || is_there(root, path, NULL))
		return;
	snprintf(path, sizeof(path), PROFILE_FOLDER "/%s", name);
	if (read_text(root, path, text, PROFILE_BYTES_MAX) < 0)
		return;
	for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		enum apparmor_profile profile;

		if (!line_names_bwrap(line, pattern, sizeof(pattern)))
			continue;
		profile = judge_profile(text, pattern, bwrap_path);
		/* One for this very bwrap counts more than one for another. */
		if (facts->profile != PROFILE_ABSENT && facts->profile != PROFILE_OTHER_PATH)
			return;
		facts->profile = profile;
		snprintf(facts->profile_file, sizeof(facts->profile_file), "%.250s", path);
		snprintf(facts->profile_path, sizeof(facts->profile_path), "%s", pattern);
	}
}

static void find_profile(struct host_facts *facts, const char *root, const char *bwrap_path)
{
	char name[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(name, sizeof(name), "%s" PROFILE_FOLDER, root);
	folder = opendir(name);
	if (!folder)
		return;
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_REG || entry->d_type == DT_LNK ||
		     entry->d_type == DT_UNKNOWN))
			take_profile(facts, root, entry->d_name, bwrap_path);
	closedir(folder);
}

void host_facts_read(struct host_facts *ret_facts, const char *root, const char *bwrap_path)
{
	*ret_facts = (struct host_facts){
		.max_user_namespaces = read_switch(root, "/proc/sys/user/max_user_namespaces"),
		.unprivileged_userns_clone = read_switch(
			root, "/proc/sys/kernel/unprivileged_userns_clone"),
		.apparmor_restricts_userns = read_switch(
			root, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
	};
	find_container(ret_facts, root);
	if (ret_facts->apparmor_restricts_userns > 0)
		find_profile(ret_facts, root, bwrap_path);
}

/* The user manager. */

static bool is_socket(const char *root, const char *folder, const char *name, uid_t uid)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return is_there(root, path, &st) && S_ISSOCK(st.st_mode) && st.st_uid == uid;
}

static bool has_manager(const char *root, const char *folder, uid_t uid)
{
	return is_socket(root, folder, "systemd/private", uid) ||
	       is_socket(root, folder, "bus", uid);
}

static enum manager_lack find_lack(const struct manager_facts *facts, const char *root, uid_t uid,
				   const char *sudo_user)
{
	struct stat st;
	bool exists = is_there(root, facts->folder, &st);
	bool by_sudo = uid == 0 && sudo_user && strcmp(sudo_user, "root") != 0;

	if (exists && st.st_uid == uid && has_manager(root, facts->folder, uid))
		return MANAGER_THERE;
	if (!is_there(root, "/run/systemd/system", NULL))
		return MANAGER_NO_SYSTEMD;
	if (by_sudo)
		return MANAGER_ROOT_BY_SUDO;
	if (exists && st.st_uid != uid)
		return MANAGER_WRONG_USER;
	if (facts->own_exists && strcmp(facts->folder, facts->usual) != 0 &&
	    (!exists || has_manager(root, facts->usual, uid)))
		return MANAGER_WRONG_FOLDER;
	if (exists)
		return MANAGER_NOT_RUNNING;
	return facts->lingers ? MANAGER_NOT_STARTED : MANAGER_NO_LINGERING;
}

void manager_facts_read(struct manager_facts *ret_facts, const char *root, uid_t uid,
			const char *user, const char *runtime, const char *sudo_user)
{
	char linger[320];
	struct stat st;

	*ret_facts = (struct manager_facts){.owner = uid};
	snprintf(ret_facts->usual, sizeof(ret_facts->usual), "/run/user/%u", (unsigned int)uid);
	snprintf(linger, sizeof(linger), "/var/lib/systemd/linger/%.255s", user);
	ret_facts->lingers = is_there(root, linger, NULL);
	ret_facts->own_exists = is_there(root, ret_facts->usual, &st) && st.st_uid == uid;
	if (!runtime || runtime[0] != '/')
		runtime = ret_facts->usual;
	snprintf(ret_facts->folder, sizeof(ret_facts->folder), "%s", runtime);
	if (is_there(root, runtime, &st))
		ret_facts->owner = st.st_uid;
	ret_facts->lack = find_lack(ret_facts, root, uid, sudo_user);
}

/* Controllers. */

#define CGROUP_FOLDER "/sys/fs/cgroup"

static int read_line(const char *root, const char *path, char *text, size_t size)
{
	int r = read_text(root, path, text, size);

	if (r == 0)
		text[strcspn(text, "\n")] = '\0';
	else
		text[0] = '\0';
	return r;
}

void cgroup_facts_read(struct cgroup_facts *ret_facts, const char *root, uid_t uid)
{
	unsigned int number = (unsigned int)uid;
	char path[PATH_MAX];
	struct statvfs fs;

	*ret_facts = (struct cgroup_facts){.version = CGROUP_V2};
	if (read_line(root, CGROUP_FOLDER "/cgroup.controllers", ret_facts->top,
		      sizeof(ret_facts->top)) < 0)
		ret_facts->version = is_there(root, CGROUP_FOLDER "/unified", NULL) ||
						     is_there(root, CGROUP_FOLDER "/memory", NULL)
					     ? CGROUP_V1
					     : CGROUP_ABSENT;
	snprintf(path, sizeof(path), "%s" CGROUP_FOLDER, root);
	ret_facts->read_only = statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY);
	snprintf(path, sizeof(path),
		 CGROUP_FOLDER "/user.slice/user-%u.slice/user@%u.service/cgroup.controllers",
		 number, number);
	ret_facts->manager_found = ret_facts->version == CGROUP_V2 &&
				   read_line(root, path, ret_facts->manager,
					     sizeof(ret_facts->manager)) == 0;
}
