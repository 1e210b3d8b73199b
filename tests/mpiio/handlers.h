/* handlers: what the program (handlers.c), its promises (handlers_cases.c) and classes of failing calls
   (handlers_classes.c) share. */
#pragma once

#include "views.h"

/* What handlers have noted since the last question. */
enum { most_calls = 16 };
struct called {
  char who;
  MPI_File file;
  int code;
};
extern struct called calls[most_calls];
extern int called;
void note(char who, MPI_File file, int code);

/* A new handler, 'a' or 'b', which notes that it is called; freed by the caller. */
MPI_Errhandler made(char which);
/* Since the last question one handler was called once: this one, with this file and a code of this class. */
void called_once(char who, MPI_File file, int class, const char* call);
void nobody_called(const char* call);

void run_cases(const char* path);
void run_classes(const char* path);
