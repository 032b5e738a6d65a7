/* SPDX-License-Identifier: MIT */
#include "mounts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * mountinfo writes space, tab, newline and backslash as \ooo; in place. False: that is no path, since
 * it is empty or has a byte that none can have.
 */
static bool unescape(char *text)
{
	char *out = text;
	bool whole = *text != '\0';

	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
		    text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
			*out = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				      (text[3] - '0'));
			whole = whole && *out != '\0';
			out++;
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
	return whole;
}

/* "36 35 98:0 /root /point options optional… - type source options" */
static int mount_parse(struct mount *ret_mount, char *line)
{
	struct mount mount = {0};
	unsigned long long id;
	char *fields, *root, *point, *type;
	int taken = 0;

	if (sscanf(line, "%llu %*u %u:%u %n", &id, &mount.major, &mount.minor, &taken) != 3)
		return -EINVAL;
	mount.id = id;
	fields = line + taken;
	root = strsep(&fields, " ");
	point = strsep(&fields, " ");
	type = fields ? strstr(fields, " - ") : NULL;
	if (!type || !point)
		return -EINVAL;
	type += strlen(" - ");
	type[strcspn(type, " ")] = '\0';
	if (!unescape(root) || !unescape(point))
		return -EINVAL;
	mount.root = strdup(root);
	mount.point = strdup(point);
	mount.type = strdup(type);
	*ret_mount = mount;
	return mount.root && mount.point && mount.type ? 0 : -ENOMEM;
}

int mount_table_parse(struct mount_table *ret_table, char *text)
{
	_cleanup_(mount_table_done) struct mount_table table = {0};
	char *line;

	while ((line = strsep(&text, "\n"))) {
		struct mount mount = {0};
		struct mount *mounts;
		int r = mount_parse(&mount, line);

		if (r == -EINVAL)
			continue;
		mounts = realloc(table.mounts, (table.count + 1) * sizeof(*mounts));
		if (mounts) {
			table.mounts = mounts;
			mounts[table.count++] = mount;
		}
		if (r < 0 || !mounts)
			return -ENOMEM;
	}
	*ret_table = table;
	table = (struct mount_table){0};
	return 0;
}

void mount_table_done(struct mount_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		free(table->mounts[i].root);
		free(table->mounts[i].point);
		free(table->mounts[i].type);
	}
	free(table->mounts);
	*table = (struct mount_table){0};
}

int mount_position(const struct mount_table *table, const struct place *place,
		   struct mount_position *ret_position)
{
	const struct mount *mount = NULL;
	const char *below;
	struct statx stx;
	size_t length;

	if (statx(place->fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0 ||
	    !(stx.stx_mask & STATX_MNT_ID))
		return -ENOENT;
	for (size_t i = 0; i < table->count; i++)
		if (table->mounts[i].id == stx.stx_mnt_id)
			mount = &table->mounts[i];
	if (!mount || !path_within(place->canonical, mount->point))
		return -ENOENT;
	length = strcmp(mount->point, "/") ? strlen(mount->point) : 0;
	below = strcmp(place->canonical, "/") ? place->canonical + length : "";
	if (asprintf(&ret_position->path, "%s%s", strcmp(mount->root, "/") ? mount->root : "",
		     below) < 0)
		return -ENOMEM;
	if (!ret_position->path[0]) {
		free(ret_position->path);
		ret_position->path = strdup("/");
		if (!ret_position->path)
			return -ENOMEM;
	}
	ret_position->major = mount->major;
	ret_position->minor = mount->minor;
	return 0;
}

void mount_position_done(struct mount_position *position)
{
	free(position->path);
	*position = (struct mount_position){0};
}
