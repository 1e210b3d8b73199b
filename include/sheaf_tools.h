/* What the command `sheaf` does to whole multifiles, as calls: their metadata, checking, repairing, copying.
 * In libsheaf. All calls are local; different threads may make them at the same time, on one sheaf_metadata
 * as well. Sizes and offsets are in bytes. Failing calls return what is said here, and print and remember a
 * message (sheaf.h). */
#ifndef SHEAF_TOOLS_H
#define SHEAF_TOOLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* --- metadata ---------------------------------------------------------------------------------------- */

/* The metadata of a multifile as they were when it was opened. `path`: physical file 0 of a set, or any
 * single one. checksums 0: those of metadata are not compared. NULL on error. Closed with
 * sheaf_metadata_close (NULL is allowed). */
typedef struct sheaf_metadata sheaf_metadata;
sheaf_metadata* sheaf_metadata_open(const char* path, int checksums);
void sheaf_metadata_close(sheaf_metadata* metadata);

typedef struct sheaf_multifile_info {
  long long tasks;
  long long rounds; /* largest number of chunks of a task */
  long long bytes;  /* in all chunks, as they are stored */
  int files;        /* physical files */
  int block_size;   /* of the file system it was made for */
  int format_version;
  int library_version; /* as stored: 1007 for 1.7 */
  int key_value;       /* 1: its streams are key-value records */
  int closed;          /* 0: never closed; all here is what journals tell */
  int checksums;       /* 1: it has some */
  int compressed;      /* 1: streams are frames */
  int big_endian;      /* byte order of the user data: 1 big, 0 little */
} sheaf_multifile_info;
int sheaf_metadata_info(const sheaf_metadata* metadata, sheaf_multifile_info* info); /* 1 or 0 */

/* Path of a physical file; valid until the metadata are closed. NULL: there is no such file. */
const char* sheaf_metadata_path(const sheaf_metadata* metadata, int file);

typedef struct sheaf_task_info {
  int file;              /* physical file */
  int local_rank;        /* in it */
  long long global_rank; /* as stored */
  long long chunk_size;
  long long chunks;       /* that it has begun */
  long long stored_bytes; /* in them */
  long long bytes;        /* of its stream, decompressed; -1: not asked for */
} sheaf_task_info;

/* The next `count` tasks from `first` on. lengths 1: `bytes` too, which of a compressed task means to read
 * its frames' heads. Returns how many there are, at most count; -1 on error. */
long long sheaf_metadata_tasks(const sheaf_metadata* metadata, long long first, long long count, int lengths,
                               sheaf_task_info* tasks);

typedef struct sheaf_chunk {
  long long offset; /* in the physical file */
  long long size;
  long long bytes; /* in use */
} sheaf_chunk;

/* The chunks of a task from number `first` on, at most `count`. Returns how many; -1 on error. */
long long sheaf_metadata_chunks(const sheaf_metadata* metadata, long long task, long long first,
                                long long count, sheaf_chunk* chunks);

/* Calls visit(user, task, name, modified) for each task in order, if the tasks have names (docs/format.md,
 * section 14.5), until it returns something other than 0. name: valid during the call; modified: nanoseconds
 * since 1970. Returns the number of calls, 0 if the tasks have no names; -1 on error. */
typedef int (*sheaf_name_visit)(void* user, long long task, const char* name, long long modified);
long long sheaf_metadata_names(const sheaf_metadata* metadata, sheaf_name_visit visit, void* user);

/* --- work on whole multifiles -------------------------------------------------------------------------- */

/* Called at the begin and after at most 16 MiB each, by the calling thread: bytes done and of all. Not 0: the
 * work ends with an error, and leaves nothing behind. */
typedef int (*sheaf_progress)(void* user, long long done, long long total);

/* What is said about a physical file. state: "complete", "unclosed", "damaged", "unreadable", "foreign" for
 * findings, "note" for what is not wrong; of a repair what it went by ("complete", "journal", "nothing",
 * "table", "holes"), with message NULL, and "unknown" for what could not be told. */
typedef void (*sheaf_finding)(void* user, const char* path, const char* state, const char* message);

/* Compares everything with everything (docs/tools/sheaf-verify.md); data 0: metadata only. `path` may also be
 * a set of containers, or one of them: they are one report, of `path`. 1: sound, 0: something is wrong, which
 * has been told; -1 on error. Callbacks may be NULL here and below. */
int sheaf_verify(const char* path, int data, sheaf_progress progress, sheaf_finding finding, void* user);

/* Makes an unclosed multifile complete (docs/tools/sheaf-repair.md): in place, or as a copy `copy_to` (NULL:
 * in place). A job that lives and is writing it is an error, found by waiting up to 25 s if need be. 1; 0 on
 * error. */
#define SHEAF_REPLACE 1  /* outputs that exist are replaced */
#define SHEAF_DRY_RUN 2  /* only find out */
#define SHEAF_BY_HOLES 4 /* although there is a journal */
#define SHEAF_FORCE 8    /* although a job may be writing it, or a part of it is gone */
int sheaf_repair(const char* path, const char* copy_to, int flags, sheaf_progress progress,
                 sheaf_finding finding, void* user);

/* The streams as files: `prefix`, and the number of the task in `digits` digits. ntasks >= 0: these tasks
 * only; -1: all. 1; 0 on error, and no file is left. */
#define SHEAF_GLOBAL_RANKS 16     /* numbers are the stored global ranks */
#define SHEAF_IGNORE_CHECKSUMS 32 /* data are taken as they are */
int sheaf_split(const char* path, const char* prefix, int digits, const long long* tasks, long long ntasks,
                int flags, sheaf_progress progress, void* user);

/* A copy with one chunk per task. block_size <= 0: that of the input. words: NULL, or words of an open mode
 * that say how to compress and the number of physical files ("compress=zstd:3,shuffle=8,files=4"), which is 1
 * if they do not. 1; 0 on error, and no file is left. */
#define SHEAF_DECOMPRESS 64 /* what is compressed is written as it was before */
int sheaf_defrag(const char* path, const char* output, int block_size, const char* words, int flags,
                 sheaf_progress progress, void* user);

#ifdef __cplusplus
}
#endif
#endif
