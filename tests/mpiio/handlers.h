/* handlers: shared by the program (handlers.c), its guarantees (handlers_cases.c) and the classes of failing
 * calls (handlers_classes.c). */
#pragma once

#include "views.h"

/* Calls that handlers have recorded since the last query. */
enum { max_calls = 16 };
struct called {
  char who;
  MPI_File file;
  int code;
};
extern struct called calls[max_calls];
extern int called;
void note(char who, MPI_File file, int code);

/* Returns a new handler, 'a' or 'b', that records its calls. The caller frees it. */
MPI_Errhandler made(char which);
/* Requires that exactly one handler was called since the last query: handler `who`, with `file` and a code
 * of class `class`. */
void called_once(char who, MPI_File file, int class, const char* call);
void nobody_called(const char* call);

void run_cases(const char* path);
void run_classes(const char* path);
