/* SPDX-License-Identifier: MIT */
#include "guarded.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "text_file.h"

/*
 * The guarded places. What they are is a list, below: a file or folder that the host executes, or
 * takes commands from, on the person's behalf, or that holds what logs the person in somewhere.
 * Whole folders of tools are left out where people share them with Trials for their caches
 * (~/.cache, ~/.cargo/registry, ~/.npm, ~/go/pkg); their programs and settings are in.
 *
 * Finding out where a hundred of them are costs more than all else about a launch, so it is kept.
 * Everything it depends on is looked at anew for each launch: the mounts (as text), and the
 * folders in which each component and link was found or missed (stamp.h).
 */

#define LOGIN "a folder of logins"
#define SECRET "a place of logins or keys"
#define SHELL "a start-up file of the shell"
#define SESSION "a start-up file of the session"
#define PROGRAMS "a folder of programs that the host runs"
#define SETTINGS "settings that name programs to run"

struct guarded {
	const char *path;
	const char *what;
};

/* Below HOME: what logs in somewhere. The first ones are what a message names where several could be. */
static const struct guarded secrets_in_home[] = {
	{".thirdshift", "thirdshift's credentials and the Trials homes"},
	{".codex", "the login folder of Codex"},
	{".claude", "the login folder of Claude Code"},
	{".claude.json", "a login file of Claude Code"},
	{".grok", "the login folder of Grok"},
	{".kimi", "the login folder of Kimi"},
	{".kimi-code", "the login folder of Kimi"},
	{".config/muse", "the login folder of Muse"},
	{".gemini", "the login folder of Antigravity"},
	{".local/share/opencode", "the login folder of OpenCode"},
	{".config/opencode", SETTINGS},
	{".ssh", "the folder of ssh keys"},
	{".gnupg", "the folder of gpg keys"},

	{".netrc", SECRET},
	{".authinfo", SECRET},
	{".git-credentials", SECRET},
	{".npmrc", SECRET},
	{".yarnrc", SECRET},
	{".yarnrc.yml", SECRET},
	{".pypirc", SECRET},
	{".pgpass", SECRET},
	{".my.cnf", SECRET},
	{".boto", SECRET},
	{".s3cfg", SECRET},
	{".terraformrc", SECRET},
	{".terraform.d", SECRET},
	{".aws", LOGIN},
	{".azure", LOGIN},
	{".docker", LOGIN},
	{".kube", LOGIN},
	{".password-store", LOGIN},
	{".pki", LOGIN},
	{".config/gh", LOGIN},
	{".config/glab-cli", LOGIN},
	{".config/hub", LOGIN},
	{".config/gcloud", LOGIN},
	{".config/op", LOGIN},
	{".config/rclone", LOGIN},
	{".config/helm", LOGIN},
	{".config/doctl", LOGIN},
	{".config/google-chrome", LOGIN},
	{".config/chromium", LOGIN},
	{".mozilla", LOGIN},
	{".thunderbird", LOGIN},
	{".local/share/keyrings", LOGIN},
	{".local/share/kwalletd", LOGIN},
	{".cargo/credentials", SECRET},
	{".cargo/credentials.toml", SECRET},
	{".m2/settings.xml", SECRET},
	{".m2/settings-security.xml", SECRET},
	{".gradle/gradle.properties", SECRET},
};

/* And the rest. */
static const struct guarded guarded_in_home[] = {
	{".profile", SHELL},
	{".login", SHELL},
	{".logout", SHELL},
	{".bash_profile", SHELL},
	{".bash_login", SHELL},
	{".bash_logout", SHELL},
	{".bash_aliases", SHELL},
	{".bash_completion", SHELL},
	{".bashrc", SHELL},
	{".zshenv", SHELL},
	{".zprofile", SHELL},
	{".zshrc", SHELL},
	{".zlogin", SHELL},
	{".zlogout", SHELL},
	{".oh-my-zsh", SHELL},
	{".cshrc", SHELL},
	{".tcshrc", SHELL},
	{".kshrc", SHELL},
	{".mkshrc", SHELL},
	{".inputrc", SHELL},
	{".config/fish", SHELL},
	{".config/zsh", SHELL},
	{".config/nushell", SHELL},
	{".local/share/fish", SHELL},
	{".local/share/bash-completion", SHELL},
	{".cargo/env", SHELL},
	{".xprofile", SESSION},
	{".xsession", SESSION},
	{".xsessionrc", SESSION},
	{".xinitrc", SESSION},
	{".xserverrc", SESSION},
	{".Xresources", SESSION},
	{".pam_environment", SESSION},
	{".config/environment.d", "the folder of the session's environment"},
	{".config/plasma-workspace", SESSION},
	{".config/autostart-scripts", SESSION},
	{".config/i3", SESSION},
	{".config/sway", SESSION},
	{".config/hypr", SESSION},
	{".config/openbox", SESSION},
	{".i3", SESSION},
	{".config/autostart", PROGRAMS},
	{".config/systemd", "the folder of systemd user units"},
	{".local/share/systemd", "the folder of systemd user units"},
	{".local/share/dbus-1", "the folder of services that the bus starts"},
	{".local/share/applications", PROGRAMS},
	{".local/share/gnome-shell", PROGRAMS},
	{".local/share/nautilus", PROGRAMS},
	{".local/share/flatpak", PROGRAMS},
	{".config/containers", SETTINGS},
	{".config/cron", "a folder of timed commands"},
	{".cron", "a folder of timed commands"},
	{".crontab", "a file of timed commands"},

	{"bin", PROGRAMS},
	{".bin", PROGRAMS},
	{".local/bin", PROGRAMS},
	{".local/lib", PROGRAMS},
	{".local/lib64", PROGRAMS},
	{".cargo/bin", PROGRAMS},
	{"go/bin", PROGRAMS},
	{".bun/bin", PROGRAMS},
	{".deno/bin", PROGRAMS},
	{".rustup", PROGRAMS},
	{".nvm", PROGRAMS},
	{".pyenv", PROGRAMS},
	{".rbenv", PROGRAMS},
	{".asdf", PROGRAMS},
	{".volta", PROGRAMS},
	{".sdkman", PROGRAMS},
	{".vscode", PROGRAMS},
	{".vscode-server", PROGRAMS},
	{".cursor", PROGRAMS},
	{".cursor-server", PROGRAMS},

	{".gitconfig", SETTINGS},
	{".config/git", SETTINGS},
	{".hgrc", SETTINGS},
	{".config/hg", SETTINGS},
	{".config/jj", SETTINGS},
	{".cargo/config", SETTINGS},
	{".cargo/config.toml", SETTINGS},
	{".gradle/init.gradle", SETTINGS},
	{".gradle/init.d", SETTINGS},
	{".config/pip", SETTINGS},
	{".pip", SETTINGS},
	{".config/uv", SETTINGS},
	{".config/mise", SETTINGS},
	{".config/direnv", SETTINGS},
	{".direnvrc", SETTINGS},
	{".local/share/direnv", SETTINGS},
	{".vimrc", SETTINGS},
	{".vim", SETTINGS},
	{".gvimrc", SETTINGS},
	{".exrc", SETTINGS},
	{".config/vim", SETTINGS},
	{".config/nvim", SETTINGS},
	{".local/share/nvim", SETTINGS},
	{".emacs", SETTINGS},
	{".emacs.d", SETTINGS},
	{".config/emacs", SETTINGS},
	{".config/Code", SETTINGS},
	{".config/Cursor", SETTINGS},
	{".config/zed", SETTINGS},
	{".tmux.conf", SETTINGS},
	{".config/tmux", SETTINGS},
	{".screenrc", SETTINGS},
	{".gdbinit", SETTINGS},
	{".config/gdb", SETTINGS},
	{".lldbinit", SETTINGS},
	{".pdbrc", SETTINGS},
	{".irbrc", SETTINGS},
	{".Rprofile", SETTINGS},
	{".mailcap", SETTINGS},
	{".lesskey", SETTINGS},
};

/* Spools of commands that run as their owner, where the person can reach them at all. */
static const char *const guarded_elsewhere[] = {"/var/spool/cron", "/var/spool/at",
						"/var/spool/atjobs"};

static void items_free(struct guards *guards)
{
	for (size_t i = 0; i < guards->count; i++) {
		place_done(&guards->items[i].place);
		free(guards->items[i].rest);
		ancestry_done(&guards->items[i].ancestry);
		mount_position_done(&guards->items[i].position);
	}
	free(guards->items);
	guards->items = NULL;
	guards->count = 0;
	stamps_done(&guards->stamps);
	guards->valid = false;
}

void guards_done(struct guards *guards)
{
	items_free(guards);
	free(guards->mounts_text);
	mount_table_done(&guards->mounts);
	*guards = (struct guards){0};
}

/* Whether another one stands for this: both are missing in the same folder, reached alike. */
static bool is_repeated(const struct guards *guards, const struct guard *guard)
{
	for (size_t i = 0; i < guards->count; i++) {
		const struct guard *other = &guards->items[i];

		if (guard->rest && other->rest && guard->reach == other->reach &&
		    guard->place.link_count == 0 && other->place.link_count == 0 &&
		    !strcmp(guard->place.canonical, other->place.canonical))
			return true;
	}
	return false;
}

/* A folder that may not be searched now, but by whoever owns it once more: one step up from it. */
static int guard_step_up(struct guard *guard, struct guards *guards)
{
	_cleanup_(place_done) struct place above = PLACE_INIT;
	_cleanup_free_ char *folder = strdup(guard->place.canonical);
	_cleanup_free_ char *rest = NULL, *missing = NULL;
	char *slash = folder ? strrchr(folder, '/') : NULL;
	int r;

	if (!slash)
		return -ENOMEM;
	if (asprintf(&rest, "%s%s%s", slash + 1, guard->rest ? "/" : "",
		     guard->rest ? guard->rest : "") < 0)
		return -ENOMEM;
	*slash = '\0';
	r = place_open_existing(&above, folder[0] ? folder : "/", &missing, &guards->stamps);
	if (r < 0 || missing)
		return r < 0 ? r : -ENOENT;
	free(guard->place.canonical);
	guard->place.canonical = steal(&above.canonical);
	guard->place.device = above.device;
	guard->place.inode = above.inode;
	fd_close(guard->place.fd);
	guard->place.fd = fd_steal(&above.fd);
	free(guard->rest);
	guard->rest = steal(&rest);
	return place_ancestry(&guard->place, &guard->ancestry);
}

static int guard_open(struct guard *guard, struct guards *guards, const char *path)
{
	int r;

	r = place_open_existing(&guard->place, path, &guard->rest, &guards->stamps);
	if (r == 0 && is_repeated(guards, guard))
		return -EEXIST;
	if (r == 0)
		r = place_ancestry(&guard->place, &guard->ancestry);
	if (r == -EACCES)
		r = guard_step_up(guard, guards);
	if (r == 0) {
		r = mount_position(&guards->mounts, &guard->place, &guard->position);
		r = r == -ENOENT ? 0 : r;
	}
	guard->place.fd = fd_close(guard->place.fd);
	guard->place.parent_fd = fd_close(guard->place.parent_fd);
	return r;
}

static int guard_add(struct guards *guards, const char *what, const char *path,
		     enum guard_reach reach)
{
	struct guard *items = realloc(guards->items, (guards->count + 1) * sizeof(*items));
	struct guard *guard;
	int r;

	if (!items)
		return -ENOMEM;
	guards->items = items;
	guard = &items[guards->count];
	*guard = (struct guard){.what = what, .reach = reach, .place = PLACE_INIT};
	r = guard_open(guard, guards, path);
	if (r == 0) {
		guards->count++;
		return 0;
	}
	place_done(&guard->place);
	free(guard->rest);
	ancestry_done(&guard->ancestry);
	mount_position_done(&guard->position);
	return r == -EEXIST || r == -ENOENT ? 0 : r;
}

/* Whether HOME itself has no such entry: then the guard of HOME says all there is to say. */
static bool is_absent(int home_fd, const char *path)
{
	char name[NAME_MAX + 1];
	struct stat st;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "/"), path);
	return home_fd >= 0 && fstatat(home_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	       errno == ENOENT;
}

static int home_add_all(struct guards *guards, const char *home, int fd,
			const struct guarded *items, size_t count, bool secret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		_cleanup_free_ char *path = NULL;
		size_t before = guards->count;

		if (is_absent(fd, items[i].path))
			continue;
		if (asprintf(&path, "%s/%s", home, items[i].path) < 0)
			return -ENOMEM;
		r = guard_add(guards, items[i].what, path, GUARD_WRITABLE_AROUND);
		if (guards->count > before)
			guards->items[before].secret = secret;
	}
	return r;
}

/* Secrets come first: of those that are missing in the same folder the first stands for all. */
static int home_add(struct guards *guards, const char *home)
{
	_cleanup_close_ int fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	r = stamps_add(&guards->stamps, home, fd, true);
	if (r == 0)
		r = home_add_all(guards, home, fd, secrets_in_home, ARRAY_SIZE(secrets_in_home),
				 true);
	return r == 0 ? home_add_all(guards, home, fd, guarded_in_home, ARRAY_SIZE(guarded_in_home),
				     false)
		      : r;
}

static int items_find(struct guards *guards, const struct plan_host *host)
{
	int r;

	r = guard_add(guards, "the root folder", "/", GUARD_WRITABLE_ABOVE);
	if (r == 0)
		r = guard_add(guards, "the home folder", host->home, GUARD_WRITABLE_ABOVE);
	if (r == 0)
		r = guard_add(guards, "trialsd's state folder", host->state_folder,
			      GUARD_ANY_MODE_AROUND);
	if (r == 0)
		r = guard_add(guards, "trialsd's runtime folder", host->runtime_folder,
			      GUARD_ANY_MODE_AROUND);
	if (r == 0)
		r = guard_add(guards, "trialsd's configuration", host->config_folder,
			      GUARD_WRITABLE_AROUND);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(guarded_elsewhere); i++)
		r = guard_add(guards, "a folder of timed commands", guarded_elsewhere[i],
			      GUARD_WRITABLE_AROUND);
	return r == 0 ? home_add(guards, host->home) : r;
}

/* 1 when they are as they were, which their text says better than any notice of changes would. */
static int mounts_refresh(struct guards *guards)
{
	_cleanup_free_ char *text = NULL, *parsed = NULL;
	size_t size;
	int r;

	r = text_file_read("/proc/self/mountinfo", 16u << 20, &text, &size);
	if (r < 0)
		return r;
	if (guards->mounts_text && guards->mounts_size == size &&
	    !memcmp(guards->mounts_text, text, size))
		return 1;
	parsed = strdup(text);
	if (!parsed)
		return -ENOMEM;
	guards_done(guards);
	r = mount_table_parse(&guards->mounts, parsed);
	if (r < 0)
		return r;
	guards->mounts_text = steal(&text);
	guards->mounts_size = size;
	return 0;
}

int guards_refresh(struct guards *guards, const struct plan_host *host)
{
	int r = mounts_refresh(guards);

	if (r < 0 || (r == 1 && guards->valid && stamps_hold(&guards->stamps)))
		return r < 0 ? r : 0;
	items_free(guards);
	r = items_find(guards, host);
	if (r < 0)
		items_free(guards);
	guards->valid = r == 0;
	return r;
}
