/* Children: start, talk to, look into and end. */
#include "guest.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void doze(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
}

static void become(const char *const argv[], int in, int out, const char *log)
{
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	if (log) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	/* execv takes them as not const for old callers' sake; it does not change them */
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

void process_start(struct process *process, const char *const argv[], const char *log)
{
	int in[2], out[2];

	*process = (struct process){0};
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe");
	process->pid = fork();
	if (process->pid < 0)
		die("fork");
	if (!process->pid)
		become(argv, in[0], out[1], log);
	close(in[0]);
	close(out[1]);
	process->in = in[1];
	process->out = out[0];
}

bool process_line(struct process *process)
{
	double until = seconds_now() + LINE_SECONDS;
	size_t length = 0;

	while (length < sizeof(process->answer) - 1) {
		struct pollfd poll_fd = {.fd = process->out, .events = POLLIN};
		double left = until - seconds_now();
		if (left <= 0 || poll(&poll_fd, 1, (int)(left * 1000) + 1) <= 0)
			break;
		if (read(process->out, &process->answer[length], 1) != 1)
			break;
		if (process->answer[length] == '\n') {
			process->answer[length] = '\0';
			return true;
		}
		length++;
	}
	process->answer[length] = '\0';
	case_fail("process %d said no whole line: `%s`", process->pid, process->answer);
	return false;
}

void process_poke(struct process *process)
{
	if (write(process->in, "\n", 1) != 1)
		case_fail("process %d takes no input: %s", process->pid, strerror(errno));
}

static int reap(pid_t pid)
{
	double until = seconds_now() + END_SECONDS;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (seconds_now() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		doze();
	}
	return status;
}

int process_end(struct process *process, int signal)
{
	if (!process->pid)
		return 0;
	if (signal) /* first: the end of its input would make a victim go on */
		kill(process->pid, signal);
	close(process->in);
	int status = reap(process->pid);
	close(process->out);
	process->pid = 0;
	return status;
}

/* ---- looking for a breakpoint ------------------------------------------------------------ */

struct image {
	uint8_t *bytes;
	size_t size;
};

/* Read, not mapped: the kernel puts its breakpoints into every mapping of the file, ours too. */
static struct image read_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		die(path);
	struct image image = {malloc((size_t)status.st_size), (size_t)status.st_size};
	if (!image.bytes || read(fd, image.bytes, image.size) != (ssize_t)image.size)
		die(path);
	close(fd);
	return image;
}

/* Address of a function in .symtab, 0 if it is not there. The files are our own victims. */
static uint64_t symbol_address(const struct image *image, const char *name)
{
	const Elf64_Ehdr *header = (const void *)image->bytes;
	const Elf64_Shdr *sections = (const void *)(image->bytes + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Sym *symbols = (const void *)(image->bytes + sections[i].sh_offset);
		const char *names =
			(const char *)image->bytes + sections[sections[i].sh_link].sh_offset;
		for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++)
			if (!strcmp(names + symbols[k].st_name, name))
				return symbols[k].st_value;
	}
	return 0;
}

static uint64_t file_offset(const struct image *image, uint64_t address)
{
	const Elf64_Ehdr *header = (const void *)image->bytes;
	const Elf64_Phdr *segments = (const void *)(image->bytes + header->e_phoff);

	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    address - segments[i].p_vaddr < segments[i].p_filesz)
			return address - segments[i].p_vaddr + segments[i].p_offset;
	return 0;
}

/* Where the process has an offset of a file. */
static uint64_t mapped_at(pid_t pid, const char *file, uint64_t offset)
{
	char path[64], line[512], mapped[256];
	uint64_t start, end, from, found = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %255s", &start,
			   &end, &from, mapped) != 4)
			continue;
		if (!strcmp(mapped, file) && offset >= from && offset - from < end - start)
			found = start + offset - from;
	}
	if (maps)
		fclose(maps);
	return found;
}

bool process_is_probed(const struct process *process, const char *file, const char *symbol)
{
	struct image image = read_image(file);
	uint64_t offset = file_offset(&image, symbol_address(&image, symbol));
	uint64_t address = mapped_at(process->pid, file, offset);
	uint8_t there[16];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", process->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!address || fd < 0 || pread(fd, there, sizeof(there), (off_t)address) != sizeof(there))
		case_fail("%s of %s cannot be read in process %d", symbol, file, process->pid);
	bool probed = !case_failed() && memcmp(there, image.bytes + offset, sizeof(there)) != 0;
	if (fd >= 0)
		close(fd);
	free(image.bytes);
	return probed;
}
