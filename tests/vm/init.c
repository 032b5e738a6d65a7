/* SPDX-License-Identifier: MIT */

/*
 * The first program of the virtual machine of `make check-vm`, alone in its initial RAM disk but for
 * the kernel modules in /modules. It makes a root file system of what the host lends (/usr, /etc
 * below an overlay, the tests) on a tmpfs, enters it and becomes tests/vm/guest.
 *
 * The root must be a mount of its own and not the RAM disk: no sandbox could pivot away from that.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHARE_OPTIONS "trans=virtio,version=9p2000.L,msize=262144,cache=loose"

/* The end of pid 1 is a panic, and that is the end of the machine. */
static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "vm: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* Their names begin with the order they need. */
static void load_modules(void)
{
	struct dirent **entries;
	int count = scandir("/modules", &entries, NULL, alphasort);
	int folder = open("/modules", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd, i;

	for (i = 0; i < count; i++) {
		if (entries[i]->d_name[0] == '.')
			continue;
		fd = openat(folder, entries[i]->d_name, O_RDONLY | O_CLOEXEC);
		if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST)
			give_up(entries[i]->d_name);
		close(fd);
	}
	close(folder);
}

static void mount_at(const char *source, const char *target, const char *type, const char *options)
{
	if (mkdir(target, 0755) < 0 && errno != EEXIST)
		give_up(target);
	if (mount(source, target, type, strcmp(type, "9p") == 0 ? MS_RDONLY : 0, options) < 0)
		give_up(target);
}

static void make_root(void)
{
	static const char *const folders[] = {"bin", "sbin", "lib", "lib64"};
	char link[32], target[32];
	size_t i;

	mount_at("root", "/new", "tmpfs", "mode=755");
	mount_at("usr", "/new/usr", "9p", SHARE_OPTIONS);
	mount_at("trialsd", "/new/trialsd", "9p", SHARE_OPTIONS);
	mount_at("etc", "/etc-of-host", "9p", SHARE_OPTIONS);
	if (mkdir("/new/.etc", 0700) < 0 || mkdir("/new/.etc/upper", 0755) < 0 ||
	    mkdir("/new/.etc/work", 0755) < 0)
		give_up("/new/.etc");
	mount_at("etc", "/new/etc", "overlay",
		 "lowerdir=/etc-of-host,upperdir=/new/.etc/upper,workdir=/new/.etc/work");
	for (i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(target, sizeof(target), "usr/%s", folders[i]);
		snprintf(link, sizeof(link), "/new/%s", folders[i]);
		if (symlink(target, link) < 0)
			give_up(link);
	}
}

/* Without it no Trial is launched: doctor proves the proxy by a listener there. */
static void loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		give_up("lo");
	close(fd);
}

int main(void)
{
	static char shell[] = "/bin/bash", script[] = "/trialsd/tests/vm/guest",
		    path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *const arguments[] = {shell, script, NULL};
	char *const environment[] = {path, NULL};

	load_modules();
	loopback_up();
	make_root();
	if (chdir("/new") < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		give_up("the new root");
	execve(shell, arguments, environment);
	give_up(script);
}
