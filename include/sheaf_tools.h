/* The operations of the command `sheaf` on whole multifiles as C calls: read metadata, verify, repair,
 * split, copy, and list pending saves. They are in libsheaf.
 *
 * All calls are local. Threads may call them concurrently, also on the same sheaf_metadata. Sizes and
 * offsets are in bytes. Failing calls return the value stated here, and print and store a message
 * (sheaf.h). */
#ifndef SHEAF_TOOLS_H
#define SHEAF_TOOLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* --- metadata --- */

/* Metadata of a multifile as of the time it was opened. */
typedef struct sheaf_metadata sheaf_metadata;

/* Reads the metadata of a multifile. `path` names physical file 0 of a set or any single physical file. If
 * `checksums` is 0, checksums of metadata are not verified. Returns NULL on error. The caller releases the
 * result with sheaf_metadata_close, which accepts NULL. */
sheaf_metadata* sheaf_metadata_open(const char* path, int checksums);
void sheaf_metadata_close(sheaf_metadata* metadata);

/* Like sheaf_metadata_open if the multifile has at most 1024 tasks in at most 8 physical files. For a larger
 * one, returns NULL after reading its number of tasks only. Sets `tasks` to the number of tasks, or to -1 on
 * error. */
sheaf_metadata* sheaf_metadata_open_small(const char* path, int checksums, long long* tasks);

/* Opens the stream of a task for reading, like sion_open_rank, in the files that `metadata` has open: opens
 * no file and reads no metadata again. `words` is an open mode (docs/api-sion.md); whether checksums are
 * verified is that of `metadata`. Returns a handle, which the caller closes with sion_close, before or after
 * the metadata; -1 on error. */
int sheaf_metadata_stream(const sheaf_metadata* metadata, long long task, const char* words);

typedef struct sheaf_multifile_info {
  long long tasks;
  long long rounds; /* maximum number of chunks per task */
  long long bytes;  /* in all chunks, as stored */
  int files;        /* number of physical files */
  int block_size;   /* file-system block size that the multifile was created for */
  int format_version;
  int library_version; /* as stored: 1007 for 1.7 */
  int key_value;       /* 1 if the streams are key-value records */
  int closed;          /* 0 if never closed; all values then come from journals */
  int checksums;       /* 1 if the multifile has checksums */
  int compressed;      /* 1 if the streams consist of compressed frames */
  int big_endian;      /* byte order of the user data: 1 big, 0 little */
} sheaf_multifile_info;

/* Fills `info`. Returns 1, or 0 on error. */
int sheaf_metadata_info(const sheaf_metadata* metadata, sheaf_multifile_info* info);

/* Returns the path of physical file number `file`, or NULL if it does not exist. The string is valid
 * until the metadata are closed. */
const char* sheaf_metadata_path(const sheaf_metadata* metadata, int file);

typedef struct sheaf_task_info {
  int file;              /* number of the physical file */
  int local_rank;        /* rank within the physical file */
  long long global_rank; /* as stored */
  long long chunk_size;
  long long chunks;       /* chunks begun */
  long long stored_bytes; /* bytes in these chunks */
  long long bytes;        /* length of the stream after decompression; -1 if not requested */
} sheaf_task_info;

/* Fills `tasks` with information about up to `count` tasks, starting at task `first`. If `lengths` is 1,
 * sets `bytes` as well, which requires reading the frame headers of a compressed task. Returns the number
 * of entries filled, or -1 on error. */
long long sheaf_metadata_tasks(const sheaf_metadata* metadata, long long first, long long count, int lengths,
                               sheaf_task_info* tasks);

typedef struct sheaf_chunk {
  long long offset; /* in the physical file */
  long long size;
  long long bytes; /* bytes in use */
} sheaf_chunk;

/* Fills `chunks` with up to `count` chunks of `task`, starting at chunk `first`. Returns the number of
 * entries filled, or -1 on error. */
long long sheaf_metadata_chunks(const sheaf_metadata* metadata, long long task, long long first,
                                long long count, sheaf_chunk* chunks);

/* Callback for the name of one task. `name` is valid during the call; `modified` is in nanoseconds since
 * 1970. A non-zero return value ends the iteration. */
typedef int (*sheaf_name_visit)(void* user, long long task, const char* name, long long modified);

/* Calls visit(user, task, name, modified) for each task in order if the tasks have names (docs/format.md,
 * section 14.5). Returns the number of calls, 0 if the tasks have no names, or -1 on error. */
long long sheaf_metadata_names(const sheaf_metadata* metadata, sheaf_name_visit visit, void* user);

/* --- operations on whole multifiles --- */

/* Progress callback, called by the calling thread at the start and at least every 16 MiB. `done` and
 * `total` are in bytes. A non-zero return value cancels the operation, which then fails and removes its
 * output. */
typedef int (*sheaf_progress)(void* user, long long done, long long total);

/* Callback that reports a result about one physical file.
 * - Verification passes "complete", "unclosed", "damaged", "unreadable" or "foreign" as `state`.
 *   `message` describes a problem; it is NULL for a file without one. For a remark that is no error,
 *   verification passes "note".
 * - Repair passes the source of the recovered sizes ("complete", "journal", "nothing", "table", "holes")
 *   with a NULL message. For sizes that it could not determine, repair passes "unknown" with a
 *   description. */
typedef void (*sheaf_finding)(void* user, const char* path, const char* state, const char* message);

/* Verifies the consistency of all metadata and, if `data` is 1, of the data (docs/tools/sheaf-verify.md).
 * `path` may also name a set of containers or one of its containers; `finding` then receives one report
 * for the set, under `path`. In this and the following calls, callbacks may be NULL. Returns 1 if the
 * multifile is sound, 0 if a problem was reported, -1 on error. */
int sheaf_verify(const char* path, int data, sheaf_progress progress, sheaf_finding finding, void* user);

/* Flags of the operations below. */
#define SHEAF_REPLACE 1  /* replace existing outputs */
#define SHEAF_DRY_RUN 2  /* report only, change nothing */
#define SHEAF_BY_HOLES 4 /* use holes even if there is a journal */
#define SHEAF_FORCE 8    /* proceed even if a job may be writing the multifile or a part is missing */

/* Completes an unclosed multifile in place. If `copy_to` is not NULL, writes a complete copy to that path
 * instead (docs/tools/sheaf-repair.md). Fails if a running job is writing the multifile; detecting the job
 * can take up to 25 s. Returns 1, or 0 on error. */
int sheaf_repair(const char* path, const char* copy_to, int flags, sheaf_progress progress,
                 sheaf_finding finding, void* user);

#define SHEAF_GLOBAL_RANKS 16     /* number the files by the stored global ranks */
#define SHEAF_IGNORE_CHECKSUMS 32 /* accept data with wrong checksums */

/* Writes each stream to a file named `prefix` followed by the task number in `digits` digits. Selects the
 * `ntasks` tasks in `tasks`, or all tasks if `ntasks` is -1. Returns 1, or 0 on error; a failing call leaves
 * no file. */
int sheaf_split(const char* path, const char* prefix, int digits, const long long* tasks, long long ntasks,
                int flags, sheaf_progress progress, void* user);

#define SHEAF_DECOMPRESS 64 /* write compressed streams uncompressed */

/* Writes a copy with one chunk for each task. `block_size` <= 0 selects the block size of the input. `words`
 * is NULL or words of an open mode that set the compression and the number of physical files (default 1), for
 * example "compress=zstd:3,shuffle=8,files=4". Returns 1, or 0 on error; a failing call leaves no file. */
int sheaf_defrag(const char* path, const char* output, int block_size, const char* words, int flags,
                 sheaf_progress progress, void* user);

/* --- saves in the background --- */

/* A save that has records in a directory (docs/tools/sheaf-saves.md). The strings are valid during the call
 * that receives the entry. */
typedef struct sheaf_save_entry {
  const char* name;      /* final name */
  const char* temporary; /* name of physical file 0 until the save is committed */
  const char* state;     /* "writing", "captured", "local", "failed", "complete" or "lost" */
  const char* error;     /* message of the first failed task, "" if there is none */
  double age;            /* seconds since the close; 0 before it */
  double rate;           /* bytes written per second since the close */
  long long bytes;       /* captured on all hosts */
  long long written;
  long long tasks;
  int hosts;
} sheaf_save_entry;

/* Callback for one save. A non-zero return value ends the iteration. */
typedef int (*sheaf_save_visit)(void* user, const sheaf_save_entry* entry);

/* Calls visit(user, entry) for each save that has records in `directory`, in the order of their closes.
 * Returns the number of calls, or -1 on error. */
long long sheaf_list_saves(const char* directory, sheaf_save_visit visit, void* user);

#ifdef __cplusplus
}
#endif
#endif
