/* SPDX-License-Identifier: MIT */
#include "plan/harness.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/session.h"

/* The reader of .harness files, and the set of all of them. */

static char folder[] = "/tmp/test_harness.XXXXXX";
static char shipped[64], own[64];
static struct harness *harness;
static struct harness_set *set;
static struct fault fault;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(shipped, sizeof(shipped), "%s/shipped", folder);
	snprintf(own, sizeof(own), "%s/own", folder);
	ck_assert_int_eq(mkdir(shipped, 0700), 0);
	ck_assert_int_eq(mkdir(own, 0700), 0);
	harness = NULL;
	set = NULL;
	fault = FAULT_INIT;
}

/* A folder with nothing but files in it; it may be a file itself. */
static void remove_folder(const char *name)
{
	int parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(fd, entry->d_name, 0);
	if (stream)
		closedir(stream);
	unlinkat(parent, name, stream ? AT_REMOVEDIR : 0);
	close(parent);
}

static void teardown(void)
{
	harness_free(harness);
	harness_set_free(set);
	fault_done(&fault);
	remove_folder("shipped");
	remove_folder("own");
	ck_assert_int_eq(rmdir(folder), 0);
}

static const char *path_of(const char *where, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", where, name);
	return path;
}

static void write_file(const char *where, const char *name, const char *bytes, size_t size)
{
	int fd = open(path_of(where, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static int read_bytes(const char *bytes, size_t size)
{
	write_file(own, "x.harness", bytes, size);
	harness = harness_free(harness);
	fault_done(&fault);
	return harness_read(&harness, path_of(own, "x.harness"), &fault);
}

static void expect_fault(const char *text, const char *part)
{
	char expected[512];

	ck_assert_msg(read_bytes(text, strlen(text)) == FAULT, "accepted: %s\n%s", part, text);
	snprintf(expected, sizeof(expected), "%s%s", path_of(own, "x.harness"), part);
	ck_assert_msg(strncmp(fault.message, expected, strlen(expected)) == 0,
		      "%s\n  does not begin with\n%s", fault.message, expected);
	ck_assert_int_eq(fault.code, ERROR_invalid);
	ck_assert_str_eq(fault.hint,
			 "correct the line; trialsd.harness(5) says what may stand there");
	ck_assert_ptr_null(harness);
}

/* The least there can be, and one with nearly all there is. */
static const char least[] = "[Harness]\nProduct=X\nExecutable=x\nRelease=file\n[Login none]\n"
			    "[Session]\nArguments={extra}\nPrompt=stdin\n";

static const char most[] = "[Harness]\n"			      /* 1 */
			   "Product=X Code\n"			      /* 2 */
			   "Executable=x\n"			      /* 3 */
			   "Installed=~/.x/versions/*/x /opt/x/x\n"   /* 4 */
			   "Release=prefix 2\n"			      /* 5 */
			   "Interpreter=node 22.19\n"		      /* 6 */
			   "VersionFile=lib/package.json version\n"   /* 7 */
			   "Environment=A=1 'B=two words' C=%h/%%\n"  /* 8 */
			   "StopSignal=INT\n"			      /* 9 */
			   "[Login folder]\n"			      /* 10 */
			   "File=~/.x/auth.json\n"		      /* 11 */
			   "Target=~/.x/login\n"		      /* 12 */
			   "Saves=rename\n"			      /* 13 */
			   "Locks=auth.json.lock\n"		      /* 14 */
			   "Require=tokens.refresh|*.key\n"	      /* 15 */
			   "Identity=tokens.access@sub\n"	      /* 16 */
			   "Refreshes=tokens.access tokens.refresh\n" /* 17 */
			   "Expiry=tokens.access@exp s\n"	      /* 18 */
			   "RefreshAhead=5min\n"		      /* 19 */
			   "SignIn=X_HOME=~/.x x login\n"	      /* 20 */
			   "Concurrency=shared\n"		      /* 21 */
			   "Hosts=*.example.com\n"		      /* 22 */
			   "[Login env]\n"			      /* 23 */
			   "Credential=providers.x\n"		      /* 24 */
			   "Variable=X_KEY\n"			      /* 25 */
			   "[Home]\n"				      /* 26 */
			   "ReadOnly=~/.x/rules ~/.x/X.md\n"	      /* 27 */
			   "Copy=~/.x/config\n"			      /* 28 */
			   "Seed=~/.x/state {\"a\":\n"		      /* 29 */
			   "Seed=~/.x/state \"%r\"}\n"		      /* 30 */
			   "[Session]\n"			      /* 31 */
			   "Arguments=run {model} {effort} {resume} {web} {extra} {prompt}\n"
			   "Model=-m %m\n"		    /* 33 */
			   "Effort=-e %e\n"		    /* 34 */
			   "Efforts=low high\n"		    /* 35 */
			   "Resume=-r %i\n"		    /* 36 */
			   "Prompt=file argument\n"	    /* 37 */
			   "PromptFile=--file=%f\n"	    /* 38 */
			   "PromptLimit=1M\n"		    /* 39 */
			   "State=~/.x/sessions\n"	    /* 40 */
			   "[Session 2.0]\n"		    /* 41 */
			   "Arguments={web} {extra}\n"	    /* 42 */
			   "Prompt=stdin\n"		    /* 43 */
			   "[Web]\n"			    /* 44 */
			   "Arguments=--no-web\n"	    /* 45 */
			   "Seed=~/.x/config web = false\n" /* 46 */
			   "[Network]\n"		    /* 47 */
			   "Hosts=x.example:8443\n"	    /* 48 */
			   "ProviderHosts=y=y.example\n";   /* 49 */

START_TEST(the_least)
{
	ck_assert_msg(read_bytes(least, strlen(least)) == 0, "%s", fault.message);
	ck_assert_str_eq(harness->name, "x");
	ck_assert_str_eq(harness->path, path_of(own, "x.harness"));
	ck_assert_str_eq(harness->program.product, "X");
	ck_assert_uint_eq(harness->program.release, 0);
	ck_assert_int_eq(harness->program.stop_signal, SIGTERM);
	ck_assert(harness->program.root);
	ck_assert_uint_eq(harness->program.version_arguments.count, 1);
	ck_assert_str_eq(harness->program.version_arguments.items[0], "--version");
	ck_assert_uint_eq(harness->login_count, 1);
	ck_assert_int_eq(harness->logins[0].kind, HARNESS_LOGIN_none);
	ck_assert_uint_eq(harness->sessions[0].prompt_limit, 20u << 20);
}
END_TEST

START_TEST(nearly_all)
{
	const struct harness_login *login;

	ck_assert_msg(read_bytes(most, strlen(most)) == 0, "%s", fault.message);
	ck_assert_uint_eq(harness->program.release, 2);
	ck_assert_int_eq(harness->program.stop_signal, SIGINT);
	ck_assert_str_eq(harness->program.interpreter, "node");
	ck_assert_str_eq(harness->program.interpreter_version, "22.19");
	ck_assert_str_eq(harness->program.version_file, "lib/package.json");
	ck_assert_str_eq(harness->program.version_path, "version");
	ck_assert_uint_eq(harness->program.environment.count, 3);
	ck_assert_str_eq(pair_list_get(&harness->program.environment, "B"), "two words");
	login = harness_login_of(harness, HARNESS_LOGIN_folder);
	ck_assert_ptr_eq(login, &harness->logins[0]);
	ck_assert_int_eq(login->saves, HARNESS_SAVES_rename);
	ck_assert_str_eq(login->expiry, "tokens.access@exp");
	ck_assert_int_eq(login->expiry_unit, HARNESS_EXPIRY_s);
	ck_assert_double_eq(login->refresh_ahead, 300);
	ck_assert_int_eq(login->concurrency, HARNESS_CONCURRENCY_shared);
	ck_assert_uint_eq(login->sign_in.count, 3);
	login = harness_login_of(harness, HARNESS_LOGIN_env);
	ck_assert_str_eq(login->credential, "providers.x");
	ck_assert_double_eq(login->refresh_ahead, 3600);
	ck_assert_ptr_null(harness_login_of(harness, HARNESS_LOGIN_home));
	ck_assert_uint_eq(harness->home.seeds.count, 1);
	ck_assert_str_eq(harness->home.seeds.items[0].text, "{\"a\":\n\"%r\"}\n");
	ck_assert_uint_eq(harness->session_count, 2);
	ck_assert_uint_eq(harness->sessions[0].prompt_count, 2);
	ck_assert_int_eq(harness->sessions[0].prompts[0], HARNESS_PROMPT_file);
	ck_assert_uint_eq(harness->sessions[0].prompt_limit, 1u << 20);
	ck_assert_ptr_eq(harness_session_for(harness, NULL), &harness->sessions[0]);
	ck_assert_ptr_eq(harness_session_for(harness, "1.99"), &harness->sessions[0]);
	ck_assert_ptr_eq(harness_session_for(harness, "2.0.1"), &harness->sessions[1]);
	ck_assert_str_eq(pair_list_get(&harness->network.provider_hosts, "y"), "y.example");
}
END_TEST

/* A line of `most`, what is to stand in its place, and what the refusal says. */
static const struct {
	unsigned int line;
	const char *text; /* NULL: nothing */
	const char *part;
} wrong[] = {
	/* Sections and keys */
	{1, "[Harnes]", ":1: [Harnes]: unknown section; there are [Harness] [Login KIND] [Home]"},
	{1, "Product=Y\n[Harness]", ":1: Product: stands before the first [Section]"},
	{10, "[Login]", ":10: [Login]: a login is [Login file], [Login folder]"},
	{10, "[Login keyring]", ":10: [Login keyring]: a login is [Login file]"},
	{10, "[Login folder", ":10: a section is written [Name]"},
	{41, "[Session two]", ":41: [Session two]: behind Session stands a version"},
	{41, "[Session 2.]", ":41: [Session 2.]: behind Session stands a version"},
	{31, "[Session 1.0]", ":31: [Session 1.0]: [Session] comes first"},
	{46, "[Session 1.0]", ":46: [Session 1.0]: stands behind [Session 2.0]; the older one"},
	{2, "Produkt=X", ":2: Produkt: unknown key; this section has Product Executable Family"},
	{3, "product=X", ":3: product: unknown key"},
	{24, "File=~/.x/y",
	 ":24: File: unknown key; [Login env] has SignIn Concurrency Credential"},
	{3, "Product=Y", ":3: Product: given a second time (line 2 has it); once is allowed"},
	{33, "Arguments={extra}", ":33: Arguments: given a second time (line 32 has it)"},
	{2, "Product", ":2: a line is Key=value"},
	{2, "Product=X\xc2\x9b", ":2: a control character"},
	{2, "Product=\xff", ":2: not text (UTF-8)"},
	{2, "Product=X ; a comment", ":2: a comment stands on a line of its own"},
	/* Missing */
	{2, NULL, ":1: Product: missing; it must be a name of 1 to 64 bytes"},
	{3, NULL, ":1: Executable: missing"},
	{5, NULL, ":1: Release: missing; it must be file, folder or prefix N"},
	{12, NULL, ":10: Target: missing; it must be a path below ~/"},
	{13, NULL, ":10: Saves: missing"},
	{20, NULL, ":10: SignIn: missing"},
	{24, NULL, ":23: Credential: missing; it must be TABLE.KEY"},
	{32, NULL, ":31: Arguments: missing"},
	{43, NULL, ":41: Prompt: missing; it must be argument, stdin or file"},
	/* Values */
	{2, "Product=", ":2: Product: \"\" is not a name of 1 to 64 bytes"},
	{3, "Executable=bin/x", ":3: Executable: \"bin/x\" is not the name of a program"},
	{4, "Installed=x/bin", ":4: Installed: \"x/bin\" is not paths that begin with ~/ or /"},
	{4, "Installed=/a/../b", ":4: Installed"},
	{4, "Installed=/a /b /a", ":4: Installed: \"/a /b /a\" names something that was given"},
	{5, "Release=prefix 9", ":5: Release: \"prefix 9\" is not file, folder or prefix N"},
	{5, "Release=all", ":5: Release"},
	{6, "Interpreter=node twenty", ":6: Interpreter"},
	{7, "VersionFile=../package.json version", ":7: VersionFile"},
	{7, "VersionFile=package.json", ":7: VersionFile"},
	{8, "Environment=HOME=/x", ":8: Environment: \"HOME=/x\" is not assignments NAME=VALUE"},
	{8, "Environment=1A=x", ":8: Environment"},
	{8, "Environment=A", ":8: Environment"},
	{8, "Environment=A=%m", ":8: Environment: \"A=%m\" is not"},
	{8, "Environment=A=100%", ":8: Environment"},
	{8, "Environment='A=x", ":8: Environment"},
	{8, "Environment=A=1 A=2", ":8: Environment: \"A=1 A=2\" names something that was given"},
	{9, "StopSignal=KILL", ":9: StopSignal: \"KILL\" is not TERM, INT, HUP or QUIT"},
	{9, "Root=maybe", ":9: Root: \"maybe\" is not yes or no"},
	{11, "File=/etc/passwd", ":11: File: \"/etc/passwd\" is not a path below ~/"},
	{11, "File=~/.x//y", ":11: File"},
	{11, "File=~", ":11: File"},
	{13, "Saves=copy", ":13: Saves: \"copy\" is not in-place, rename or rename-or-in-place"},
	{14, "Locks=oauth/lock", ":14: Locks: \"oauth/lock\" is not names of files"},
	{15, "Require=tokens.|x", ":15: Require: \"tokens.|x\" is not paths of a JSON file"},
	{15, "Require=a@sub", ":15: Require"},
	{16, "Identity=a@", ":16: Identity"},
	{17, "Refreshes=a..b", ":17: Refreshes"},
	{18, "Expiry=expires_at", ":18: Expiry"},
	{18, "Expiry=expires_at h", ":18: Expiry: \"expires_at h\" is not a path of a JSON file"},
	{19, "RefreshAhead=soon", ":19: RefreshAhead: \"soon\" is not a time such as 5min"},
	{20, "SignIn=x %h", ":20: SignIn"},
	{21, "Concurrency=2", ":21: Concurrency: \"2\" is not auto, shared or exclusive"},
	{22, "Hosts=https://x.example", ":22: Hosts: \"https://x.example\" is not hosts such as"},
	{22, "Hosts=*.", ":22: Hosts"},
	{22, "Hosts=a.example:0", ":22: Hosts"},
	{22, "Hosts=a.example:65536", ":22: Hosts"},
	{22, "Hosts=A.example", ":22: Hosts"},
	{22, "Hosts=*.example", ":22: Hosts"},
	{22, "Hosts=192.0.2.1", ":22: Hosts"},
	{22, "Hosts=a.0x7f", ":22: Hosts"},
	{49, "ProviderHosts=y=*.example", ":49: ProviderHosts"},
	{24, "Credential=x", ":24: Credential: \"x\" is not TABLE.KEY of the credentials file"},
	{24, "Credential=a.b.c", ":24: Credential"},
	{25, "Variable=A=B", ":25: Variable: \"A=B\" is not the name of a variable"},
	{25, "Variable=USER", ":25: Variable"},
	{27, "ReadOnly=/etc/ssh", ":27: ReadOnly"},
	{29, "Seed=~/.x/state", ":29: Seed: \"~/.x/state\" is not a path below ~/, a blank and"},
	{29, "Seed=~/.x/state %m", ":29: Seed"},
	{32, "Arguments=run {extra} {everything}", ":32: Arguments"},
	{32, "Arguments=run", ":32: Arguments: \"run\" is not words separated by blanks"},
	{32, "Arguments={extra} {extra}", ":32: Arguments: \"{extra} {extra}\" names something"},
	{33, "Model=-m %x", ":33: Model"},
	{35, "Efforts=low,high", ":35: Efforts: \"low,high\" is not words of letters"},
	{37, "Prompt=socket", ":37: Prompt: \"socket\" is not argument, stdin or file"},
	{37, "Prompt=file file", ":37: Prompt: \"file file\" names something that was given"},
	{39, "PromptLimit=21M", ":39: PromptLimit: \"21M\" is not a size such as 20M"},
	{49, "ProviderHosts=y", ":49: ProviderHosts: \"y\" is not words PROVIDER=HOST"},
	/* What keys say together */
	{10, "[Login file]\n", ":13: Target: unknown key; [Login file] has File Saves"},
	{12, "Target=~/.x/auth.json", ":12: Target: it is, or hides, File=~/.x/auth.json"},
	{12, "Target=~", ":12: Target"},
	{27, "ReadOnly=~/.x", ":27: ReadOnly: ~/.x is, holds or lies in ~/.x/auth.json"},
	{28, "Copy=~/.x/login/y", ":28: Copy: ~/.x/login/y is, holds or lies in ~/.x/login"},
	{30, "Seed=~/.x/rules/y z", ":29: Seed: ~/.x/rules/y is, holds or lies in ~/.x/rules"},
	{40, "State=~/.x", ":40: State: ~/.x is, holds or lies in ~/.x/auth.json, which is the"},
	{46, "Seed=~/.x/auth.json {}", ":46: Seed: ~/.x/auth.json is, holds or lies in"},
	{32, "Arguments={effort} {resume} {web} {extra} {prompt}",
	 ":32: Arguments: there is Model=, but no {model} to say where it goes"},
	{33, NULL, ":32: Arguments: it has {model}, but there is no Model="},
	{34, NULL, ":34: Efforts: there is no Effort= nor ModelEffort="},
	{33, "Model=-m", ":33: Model: no word of it holds %m"},
	{38, "PromptFile=--file", ":38: PromptFile: no word of it holds %f"},
	{38, NULL, ":37: Prompt: it has file, but there is no PromptFile="},
	{37, "Prompt=argument", ":38: PromptFile: Prompt= does not have file"},
	{39, "PromptStdin=-", ":39: PromptStdin: Prompt= does not have stdin"},
	{39, "ModelEffort=%m#%e", ":39: ModelEffort: there is Effort= too"},
	{42, "Arguments={extra}", ":42: Arguments: there is [Web] Arguments=, but no {web}"},
	{43, "Prompt=argument", ":42: Arguments: there is a Prompt= that needs arguments, but no"},
	{45, NULL, ":32: Arguments: it has {web}, but there is no [Web] Arguments="},
};

/* `most` with one line as it is given. */
static char *changed(unsigned int line, const char *text)
{
	char *whole = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&whole, &size);
	const char *at = most;

	ck_assert_ptr_nonnull(file);
	for (unsigned int i = 1; *at; i++) {
		size_t length = (size_t)(strchr(at, '\n') - at) + 1;

		if (i != line)
			fwrite(at, 1, length, file);
		else if (text)
			fprintf(file, "%s\n", text);
		at += length;
	}
	ck_assert_int_eq(fclose(file), 0);
	return whole;
}

START_TEST(what_is_wrong_is_named)
{
	_cleanup_free_ char *text = changed(wrong[_i].line, wrong[_i].text);

	expect_fault(text, wrong[_i].part);
}
END_TEST

START_TEST(missing_sections)
{
	expect_fault("", ":1: [Harness]: this section is missing");
	expect_fault("[Home]\n\n", ":2: [Harness]: this section is missing");
	expect_fault("[Harness]\nProduct=X\nExecutable=x\nRelease=file\n",
		     ":4: [Login KIND]: this section is missing");
	expect_fault("[Harness]\nProduct=X\nExecutable=x\nRelease=file\n[Login none]\n",
		     ":5: [Session]: this section is missing");
}
END_TEST

#define WITH_LOGIN(login)                                                                          \
	"[Harness]\nProduct=X\nExecutable=x\nRelease=file\n[Session]\nArguments={extra}\n"         \
	"Prompt=stdin\n[Login " login

START_TEST(logins_that_harm)
{
	/* Line 8 is that of [Login …]. */
	expect_fault(WITH_LOGIN("file]\nFile=~/.x\nSaves=rename\nSignIn=x\n"),
		     ":10: Saves: a file that is bound cannot be replaced by rename");
	expect_fault(WITH_LOGIN("home]\nFile=~/t/a\nHome=~/t\nTarget=~/t/x\nKeep=a\n"
				"Saves=rename\nSignIn=x\n"),
		     ":10: Home: it is, holds or lies in Target=~/t/x, which is the person's own");
	expect_fault(WITH_LOGIN("home]\nFile=~/x/a\nHome=~/x\nTarget=~/x\nKeep=a\nSaves=rename\n"
				"SignIn=x\n"),
		     ":10: Home: it is, holds or lies in Target=~/x");
	expect_fault(WITH_LOGIN("home]\nFile=~/x/a\nHome=~/x/y/z\nTarget=~/x/y\nKeep=a\n"
				"Saves=rename\nSignIn=x\n"),
		     ":9: File: not a file directly in Home=~/x/y/z");
	expect_fault(WITH_LOGIN("home]\nFile=~/t/a\nHome=~/t\nTarget=~/x\nKeep=b\nSaves=rename\n"
				"SignIn=x\n"),
		     ":12: Keep: it lacks the login itself, a");
	/* In a Trials home nothing else is put, and its login is not kept of a session. */
	expect_fault(WITH_LOGIN("home]\nFile=~/t/a\nHome=~/t\nTarget=~/x\nKeep=a\nSaves=rename\n"
				"SignIn=x\n[Home]\nReadOnly=~/x/rules\n"),
		     ":16: ReadOnly: ~/x/rules is, holds or lies in ~/x, which is the login's");
	expect_fault(WITH_LOGIN("home]\nFile=~/t/a\nHome=~/t\nTarget=~/x\nKeep=a\nSaves=rename\n"
				"SignIn=x\n[Session]\nState=~/x/a\n"),
		     ":16: State: ~/x/a is, holds or lies in a, which is the login's");
	expect_fault(WITH_LOGIN("home]\nFile=~/t/a\nHome=~/t\nTarget=~/x\nKeep=a\nSaves=rename\n"
				"SignIn=x\n[Session]\nState=~/x\n"),
		     ":16: State: ~/x is, holds or lies in ~/x");
}
END_TEST

START_TEST(too_much)
{
	static char big[HARNESS_FILE_BYTES_MAX + 2];
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file;

	memset(big, '\n', sizeof(big));
	memcpy(big, least, strlen(least));
	ck_assert_int_eq(read_bytes(big, HARNESS_FILE_BYTES_MAX), 0);
	ck_assert_int_eq(read_bytes(big, HARNESS_FILE_BYTES_MAX + 1), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "x.harness: larger than 64 KiB"));
	for (int count = HARNESS_ENTRIES_MAX; count <= HARNESS_ENTRIES_MAX + 1; count++) {
		file = open_memstream(&text, &size);
		fprintf(file, "%s[Network]\n", least);
		for (int i = 0; i < count; i++)
			fprintf(file, "Hosts=h%d.example\n", i);
		ck_assert_int_eq(fclose(file), 0);
		ck_assert_int_eq(read_bytes(text, size), count > HARNESS_ENTRIES_MAX ? FAULT : 0);
		free(steal(&text));
	}
	ck_assert_ptr_nonnull(strstr(fault.message, ":138: Hosts: more than 128 entries"));
	file = open_memstream(&text, &size);
	fprintf(file, "%s", least);
	for (int i = 1; i <= HARNESS_SESSIONS_MAX; i++)
		fprintf(file, "[Session %d]\nArguments={extra}\nPrompt=stdin\n", i);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(read_bytes(text, size), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "[Session 8]: more than 8 of them"));
}
END_TEST

START_TEST(files_that_are_none)
{
	const char *path;

	ck_assert_int_eq(read_bytes("[Harness]\n#\0\n", 13), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, ":2: not text: a NUL"));
	ck_assert_int_eq(unlink(path_of(own, "x.harness")), 0);
	path = path_of(own, "x.harness");
	ck_assert_int_eq(harness_read(&harness, path, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "x.harness: No such file"));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(harness_read(&harness, path, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "x.harness: not a regular file"));
	ck_assert_int_eq(harness_read(&harness, own, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "own: not named NAME.harness"));
	write_file(own, "X.harness", least, strlen(least));
	ck_assert_int_eq(harness_read(&harness, path_of(own, "X.harness"), &fault), FAULT);
	ck_assert_ptr_nonnull(
		strstr(fault.message, "a Harness's name is of 1 to 32 small letters"));
	/* A link is the person's own affair. */
	ck_assert_int_eq(symlink("X.harness", path_of(own, "y.harness")), 0);
	ck_assert_int_eq(harness_read(&harness, path_of(own, "y.harness"), &fault), 0);
	ck_assert_str_eq(harness->name, "y");
}
END_TEST

/* --- The set -------------------------------------------------------------------------------------- */

static void load_set(void)
{
	set = harness_set_free(set);
	fault_done(&fault);
	ck_assert_msg(harness_set_load(&set, shipped, own, &fault) == 0, "%s", fault.message);
}

START_TEST(ones_own_takes_the_place)
{
	static const char other[] = "[Harness]\nProduct=Mine\nExecutable=x\nRelease=file\n"
				    "[Login none]\n[Session]\nArguments={extra}\nPrompt=stdin\n";
	const struct harness *found = NULL;

	write_file(shipped, "a.harness", least, strlen(least));
	write_file(shipped, "b.harness", least, strlen(least));
	write_file(own, "b.harness", other, strlen(other));
	write_file(own, "c.harness", other, strlen(other));
	write_file(own, ".d.harness", "x", 1);
	write_file(own, "b.harness~", "x", 1);
	write_file(own, "README", "x", 1);
	load_set();
	ck_assert_uint_eq(set->count, 3);
	ck_assert_uint_eq(set->faulty, 0);
	ck_assert_str_eq(set->entries[0].name, "a");
	ck_assert(!set->entries[0].own && set->entries[1].own && set->entries[2].own);
	ck_assert_int_eq(harness_set_find(set, "b", &found, &fault), 0);
	ck_assert_str_eq(found->program.product, "Mine");
	ck_assert_int_eq(harness_set_find(set, "a", &found, &fault), 0);
	ck_assert_str_eq(found->program.product, "X");
	ck_assert_int_eq(harness_set_find(set, "d", &found, &fault), FAULT);
	ck_assert_str_eq(fault.message, "harness: there is no \"d\"; there are a, b, c");
}
END_TEST

START_TEST(a_fault_stays_with_its_file)
{
	const struct harness *found = NULL;

	write_file(shipped, "a.harness", least, strlen(least));
	write_file(shipped, "b.harness", least, strlen(least));
	write_file(shipped, "c.harness", "x", 1);
	write_file(own, "b.harness", "[Harness]\nProduct=\n", 19);
	load_set();
	ck_assert_uint_eq(set->count, 3);
	ck_assert_uint_eq(set->faulty, 2);
	ck_assert_int_eq(harness_set_find(set, "a", &found, &fault), 0);
	/* The shipped one is not taken in its place. */
	ck_assert_int_eq(harness_set_find(set, "b", &found, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "own/b.harness:2: Product: "));
	ck_assert_int_eq(fault.code, ERROR_unavailable);
	ck_assert_ptr_null(set->entries[1].harness);
	ck_assert_ptr_nonnull(strstr(set->entries[2].fault.message, "c.harness:1: a line is"));
	/* A good file of one's own mends a faulty shipped one. */
	write_file(own, "c.harness", least, strlen(least));
	load_set();
	ck_assert_uint_eq(set->faulty, 1);
	ck_assert_int_eq(harness_set_find(set, "c", &found, &fault), 0);
	/* What cannot be opened is a fault too. */
	ck_assert_int_eq(symlink("nowhere", path_of(own, "a.harness")), 0);
	load_set();
	ck_assert_int_eq(harness_set_find(set, "a", &found, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "own/a.harness: No such file"));
}
END_TEST

START_TEST(folders_of_the_set)
{
	write_file(shipped, "a.harness", least, strlen(least));
	ck_assert_int_eq(rmdir(own), 0);
	load_set();
	ck_assert_uint_eq(set->count, 1);
	set = harness_set_free(set);
	ck_assert_int_eq(harness_set_load(&set, shipped, NULL, &fault), 0);
	set = harness_set_free(set);
	ck_assert_int_eq(harness_set_load(&set, own, NULL, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "own: No such file"));
	write_file(folder, "own", "x", 1);
	ck_assert_int_eq(harness_set_load(&set, shipped, own, &fault), FAULT);
	ck_assert_ptr_nonnull(strstr(fault.message, "own: Not a directory"));
}
END_TEST

/* One more Harness is one more file: nothing in the code knows any of them. */
START_TEST(an_eighth)
{
	const char *top = getenv("TOP");
	struct session_request request = {.has_prompt = true,
					  .prompt = "hi",
					  .prompt_size = 2,
					  .model = "m",
					  .home = "/home/x",
					  .uid = 1};
	struct session session = {0};

	write_file(own, "eighth.harness", most, strlen(most));
	snprintf(shipped, sizeof(shipped), "%s/daemon/harness.d", top ? top : ".");
	load_set();
	ck_assert_uint_eq(set->count, 8);
	ck_assert_uint_eq(set->faulty, 0);
	ck_assert_int_eq(harness_set_find(set, "eighth", &request.harness, &fault), 0);
	request.login = &request.harness->logins[0];
	ck_assert_int_eq(session_compose(&session, &request, &fault), 0);
	ck_assert_uint_eq(session.arguments.count, 5);
	ck_assert_str_eq(session.arguments.items[0], "run");
	ck_assert_str_eq(session.arguments.items[2], "m");
	ck_assert_str_eq(session.arguments.items[4], "--file=" SESSION_PROMPT_FILE);
	ck_assert_str_eq(pair_list_get(&session.environment, "C"), "/home/x/%");
	session_done(&session);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("harness");
	TCase *cases = tcase_create("harness");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, the_least);
	tcase_add_test(cases, nearly_all);
	tcase_add_loop_test(cases, what_is_wrong_is_named, 0, ARRAY_SIZE(wrong));
	tcase_add_test(cases, missing_sections);
	tcase_add_test(cases, logins_that_harm);
	tcase_add_test(cases, too_much);
	tcase_add_test(cases, files_that_are_none);
	tcase_add_test(cases, ones_own_takes_the_place);
	tcase_add_test(cases, a_fault_stays_with_its_file);
	tcase_add_test(cases, folders_of_the_set);
	tcase_add_test(cases, an_eighth);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
