/* sheaf_save.h: saves in the background, of multifiles that are opened with the word `async` (docs/async.md).
 * Part of sheaf.h. Unless stated otherwise, calls are local, make no MPI calls, and may be made by any
 * thread. */
#ifndef SHEAF_SAVE_H
#define SHEAF_SAVE_H

#ifdef __cplusplus
extern "C" {
#endif

/* A save, which moves from `captured` to `durable` or to `failed`. Released with sheaf_save_free. */
typedef struct sheaf_save sheaf_save;

/* States of a save. Each of the last three implies those before it. */
#define SHEAF_SAVE_FAILED (-1) /* will not become durable; an earlier multifile keeps the name */
#define SHEAF_SAVE_SKIPPED 0   /* discarded by `pending=skip` */
#define SHEAF_SAVE_CAPTURED 1  /* in memory of the hosts; survives nothing */
#define SHEAF_SAVE_LOCAL \
  2 /* complete on its host; survives the processes. Only on file systems of one host */
#define SHEAF_SAVE_DURABLE 3 /* complete, synced and under its name; survives a loss of power */

/* Closes a multifile that was opened with `async` for writing, in place of sion_close, sion_parclose_mpi, ...
 * Returns a handle of its save, which is captured. Collective if the open was. Returns NULL on every task if
 * the close fails. If the multifile was opened without `async`, returns NULL and leaves it open (wrong_mode).
 */
sheaf_save* sheaf_parclose_async(int sid);

/* Returns a handle of the newest save of the multifile `name`: one of this process, or one of which a job has
 * left records, or else the complete multifile with that name. Returns NULL if there is none (not_found). */
sheaf_save* sheaf_save_of(const char* name);

/* Returns the state of the save, of all its tasks, as the hosts have recorded it. Never waits. Returns
 * SHEAF_SAVE_FAILED for NULL. */
int sheaf_save_test(sheaf_save* save);

/* Waits until the save has reached `state` or a later one. Waiting for SHEAF_SAVE_LOCAL waits for
 * SHEAF_SAVE_DURABLE if the save has no such state. Returns 1, or 0 if the save has failed or was skipped. */
int sheaf_save_wait(sheaf_save* save, int state);

/* Returns why the save has failed, or "". The string is valid until sheaf_save_free. */
const char* sheaf_save_error(sheaf_save* save);

/* Returns the state, and sets *bytes to the bytes that this task has captured and *written to those of them
 * that are written. Either pointer may be NULL. */
int sheaf_save_progress(sheaf_save* save, long long* bytes, long long* written);

/* Store in `text` which generation a save is, or which one the multifile `sid`, open for reading, is: 32
 * hexadecimal digits and a final zero, different for each multifile that was created. An open reads the
 * generation that was committed last, so the two texts tell a program which of its saves it reads. `text` has
 * room for SHEAF_GENERATION_SIZE bytes. Return 1, or 0 on error: not_found for a multifile without a
 * generation, because a writer without Sheaf's extensions has created it; wrong_mode if `sid` is open for
 * writing. */
#define SHEAF_GENERATION_SIZE 33
int sheaf_save_generation(sheaf_save* save, char* text);
int sheaf_generation(int sid, char* text);

/* Releases the handle, not the save, which continues. NULL is allowed. */
void sheaf_save_free(sheaf_save* save);

/* Stores the name of the newest durable multifile that matches `pattern` in `name`, which has `size` bytes.
 * The last component of the pattern may contain `*`, `?` and `[...]`. Returns the length of the name, 0 if
 * there is none, -1 on error, for example if `size` is too small. */
long long sheaf_latest(const char* pattern, char* name, unsigned long long size);

#ifdef __cplusplus
}
#endif
#endif
