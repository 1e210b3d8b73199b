/* Macros and functions with which the cases of tests/streams/preload print their results. The output must be
 * the same for captured files and for files of the file system. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Prints the name of the call, its result, and errno if the result is -1. */
#define CALL(call)                                                     \
  do {                                                                 \
    errno = 0;                                                         \
    const long long result_ = (long long)(call);                       \
    printf("%s:%d %s = %lld %s\n", __func__, __LINE__, #call, result_, \
           result_ < 0 ? strerrorname_np(errno) : "");                 \
  } while (0)

#define VALUE(expression) printf("%s:%d %s: %lld\n", __func__, __LINE__, #expression, (long long)(expression))

/* Creates a file with these bytes. Returns its descriptor, open for reading and writing. */
int file_with(const char* name, const char* text);
/* Prints size and bytes of the file of that name. */
void show(const char* name);
/* Prints the result of lstat without the fields that may differ: inode number, number of blocks, times. */
void show_status(const char* name);
/* Waits for a child. Returns its status as waitpid() does. */
int ended(pid_t child);
/* Prints the sorted entries of a directory. */
void show_directory(const char* name);

void cases_forks(void);
void cases_standard(void);
void cases_cxx_on(void (*run)(void (*work)(void), const char* name));
void cases_open(void);
void cases_transfer(void);
void cases_names(void);
void cases_descriptors(void);
void cases_stdio(void);
void cases_wide(void);
void cases_status(void);
void cases_processes(void);
void cases_memory(void);
void cases_sharing(void);
void cases_links(void);
void cases_sparse(void);
void cases_programs(void);
