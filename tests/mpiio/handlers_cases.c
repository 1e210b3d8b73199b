/* Guarantees for error handlers: one row of `cases` for each. See handlers.c. */
#include <stdio.h>
#include <string.h>

#include "handlers.h"

static char path[600], second[700];

static MPI_File opened_as(const char* name) {
  MPI_File file = MPI_FILE_NULL;
  gives(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        MPI_SUCCESS, "opening");
  return file;
}
static MPI_File opened(void) { return opened_as(path); }
static void closed(MPI_File file) { gives(MPI_File_close(&file), MPI_SUCCESS, "closing"); }

/* Makes an independent call that fails with MPI_ERR_ARG. */
static int fails(MPI_File file) { return MPI_File_seek(file, -5, MPI_SEEK_SET); }

static int handler_is(MPI_File file, MPI_Errhandler expected) {
  MPI_Errhandler got = MPI_ERRHANDLER_NULL;
  gives(MPI_File_get_errhandler(file, &got), MPI_SUCCESS, "MPI_File_get_errhandler");
  const int right = check(got == expected, "MPI_File_get_errhandler gives another handler");
  gives(MPI_Errhandler_free(&got), MPI_SUCCESS, "freeing what MPI_File_get_errhandler gave");
  return right;
}

static void set(MPI_File file, MPI_Errhandler handler) {
  gives(MPI_File_set_errhandler(file, handler), MPI_SUCCESS, "MPI_File_set_errhandler");
}
static void set_and_free(MPI_File file, MPI_Errhandler handler) {
  set(file, handler);
  gives(MPI_Errhandler_free(&handler), MPI_SUCCESS, "MPI_Errhandler_free");
  check(handler == MPI_ERRHANDLER_NULL, "a freed handler is not MPI_ERRHANDLER_NULL");
}
static void default_again(void) { set(MPI_FILE_NULL, MPI_ERRORS_RETURN); }

static void errors_return_at_first(void) {
  handler_is(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_File file = opened();
  handler_is(file, MPI_ERRORS_RETURN);
  gives(fails(file), MPI_ERR_ARG, "an error");
  closed(file);
}

static void predefined_ones_are_given_back(void) {
  MPI_File file = opened();
  set(file, MPI_ERRORS_ARE_FATAL);
  handler_is(file, MPI_ERRORS_ARE_FATAL);
#ifdef MPI_ERRORS_ABORT
  set(file, MPI_ERRORS_ABORT);
  handler_is(file, MPI_ERRORS_ABORT);
#endif
  set(file, MPI_ERRORS_RETURN);
  handler_is(file, MPI_ERRORS_RETURN);
  for (int i = 0; i < 100; ++i) handler_is(file, MPI_ERRORS_RETURN);
  closed(file);
}

static void each_file_has_its_own(void) {
  MPI_File one = opened(), two = opened_as(second), none = opened();
  MPI_Errhandler a = made('a'), b = made('b');
  set(one, a);
  set(two, b);
  handler_is(one, a);
  handler_is(two, b);
  gives(fails(one), MPI_ERR_ARG, "one");
  called_once('a', one, MPI_ERR_ARG, "one");
  gives(fails(two), MPI_ERR_ARG, "two");
  called_once('b', two, MPI_ERR_ARG, "two");
  gives(fails(none), MPI_ERR_ARG, "none");
  nobody_called("handlers called for another file");
  fails(two), fails(one), fails(none), fails(two);
  check(called == 3 && calls[0].who == 'b' && calls[1].who == 'a' && calls[2].who == 'b' &&
            calls[0].file == two && calls[1].file == one && calls[2].file == two,
        "expected handlers b, a, b, found %d calls: %c, %c, %c", called, calls[0].who, calls[1].who,
        calls[2].who);
  called = 0;
  set(one, b); /* shared, and replaced */
  fails(one);
  called_once('b', one, MPI_ERR_ARG, "the second handler of a file");
  MPI_Errhandler_free(&a);
  MPI_Errhandler_free(&b);
  closed(two);
  fails(one);
  called_once('b', one, MPI_ERR_ARG, "a handler after another file with it was closed");
  closed(one);
  closed(none);
}

static void one_that_is_freed_stays_in_use(void) {
  MPI_File file = opened();
  MPI_Errhandler got = MPI_ERRHANDLER_NULL, other;
  set_and_free(file, made('a'));
  for (int i = 0; i < 10; ++i) { /* later ones do not replace it */
    other = made('b');
    MPI_Errhandler_free(&other);
  }
  other = made('b');
  fails(file);
  called_once('a', file, MPI_ERR_ARG, "a freed handler");
  gives(MPI_File_get_errhandler(file, &got), MPI_SUCCESS, "MPI_File_get_errhandler");
  check(got != other && got != MPI_ERRHANDLER_NULL, "a freed handler in use is given back as another one");
  MPI_Errhandler_free(&got);
  fails(file);
  called_once('a', file, MPI_ERR_ARG, "a handler freed twice, got once");
  MPI_Errhandler_free(&other);
  closed(file);
}

static void what_get_gives_can_be_set_elsewhere(void) {
  MPI_File one = opened(), two = opened_as(second);
  MPI_Errhandler got = MPI_ERRHANDLER_NULL;
  set_and_free(one, made('a'));
  gives(MPI_File_get_errhandler(one, &got), MPI_SUCCESS, "MPI_File_get_errhandler");
  set_and_free(two, got);
  closed(one);
  gives(fails(two), MPI_ERR_ARG, "the other file");
  called_once('a', two, MPI_ERR_ARG, "the other file");
  closed(two);
}

static void opens_inherit(void) {
  MPI_File before = opened();
  set_and_free(MPI_FILE_NULL, made('a'));
  MPI_File first = opened_as(second);
  fails(first);
  called_once('a', first, MPI_ERR_ARG, "a file opened after it was set");
  fails(before);
  nobody_called("handlers of a file opened before");
  set_and_free(MPI_FILE_NULL, made('b'));
  fails(first);
  called_once('a', first, MPI_ERR_ARG, "an open file when the default changes");
  MPI_File third = opened();
  fails(third);
  called_once('b', third, MPI_ERR_ARG, "the next file");
  set(third, MPI_ERRORS_RETURN);
  fails(third);
  nobody_called("handlers after MPI_ERRORS_RETURN");
  default_again();
  handler_is(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_File fourth = opened();
  fails(fourth);
  nobody_called("handlers of a file opened after MPI_ERRORS_RETURN");
  set(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  MPI_File fifth = opened();
  default_again();
  handler_is(fifth, MPI_ERRORS_ARE_FATAL);
  closed(before), closed(first), closed(third), closed(fourth), closed(fifth);
}

static void calls_without_a_file_use_the_default(void) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Errhandler a = made('a');
  set(MPI_FILE_NULL, a);
  handler_is(MPI_FILE_NULL, a);
  gives(MPI_File_open(MPI_COMM_WORLD, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
        MPI_ERR_NO_SUCH_FILE, "open");
  check(file == MPI_FILE_NULL, "a failing open leaves a handle");
  called_once('a', MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE, "open");
  gives(MPI_File_delete("/nonexistent/x", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "delete");
  called_once('a', MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE, "delete");
  gives(MPI_File_close(&file), MPI_ERR_FILE, "closing MPI_FILE_NULL");
  called_once('a', MPI_FILE_NULL, MPI_ERR_FILE, "closing MPI_FILE_NULL");
  gives(MPI_File_seek(MPI_FILE_NULL, 0, MPI_SEEK_SET), MPI_ERR_FILE, "a call on MPI_FILE_NULL");
  called_once('a', MPI_FILE_NULL, MPI_ERR_FILE, "a call on MPI_FILE_NULL");
  default_again();
  MPI_Errhandler_free(&a);
}

static void call_errhandler_calls(void) {
  MPI_File file = opened(), none = opened();
  set_and_free(file, made('a'));
  gives(MPI_File_call_errhandler(file, MPI_ERR_QUOTA), MPI_SUCCESS, "MPI_File_call_errhandler");
  called_once('a', file, MPI_ERR_QUOTA, "MPI_File_call_errhandler");
  gives(MPI_File_call_errhandler(none, MPI_ERR_QUOTA), MPI_SUCCESS, "under MPI_ERRORS_RETURN");
  nobody_called("MPI_File_call_errhandler of another file");
  set_and_free(MPI_FILE_NULL, made('b'));
  gives(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO), MPI_SUCCESS, "on MPI_FILE_NULL");
  called_once('b', MPI_FILE_NULL, MPI_ERR_IO, "on MPI_FILE_NULL");
  int class, code;
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  gives(MPI_File_call_errhandler(file, code), MPI_SUCCESS, "with a code of the program");
  check(called == 1 && calls[0].code == code, "the handler got another code than the program's");
  called = 0;
  default_again();
  closed(file), closed(none);
}

static int left_behind;
static void leaves(MPI_File* file, int* code, ...) {
  note('l', *file, *code);
  *code = left_behind;
}

static void the_code_that_is_left_is_returned(void) {
  MPI_File file = opened(), nothing = MPI_FILE_NULL;
  MPI_Errhandler handler;
  MPI_Offset at = -1;
  int class = -1, code = -1, length = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  MPI_File_create_errhandler(leaves, &handler);
  set(file, handler);
  set_and_free(MPI_FILE_NULL, handler);
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "the program's own");
  const int left[] = {MPI_SUCCESS, MPI_ERR_OTHER, code};
  for (int i = 0; i < 3; ++i) {
    left_behind = left[i];
    is(fails(file), left[i], "what the handler left");
    called_once('l', file, MPI_ERR_ARG, "a handler that leaves a code");
    is(MPI_File_open(MPI_COMM_WORLD, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &nothing), left[i],
       "of an open");
    called_once('l', MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE, "of an open");
    is(MPI_File_write_at_all(file, -1, text, 0, MPI_BYTE, MPI_STATUS_IGNORE), left[i],
       "of a collective call");
    called_once('l', file, MPI_ERR_ARG, "of a collective call");
  }
  MPI_Error_string(code, text, &length);
  check(strcmp(text, "the program's own") == 0, "MPI_Error_string of the program's code: %s", text);
  gives(code, class, "the class of the program's code");
  gives(MPI_File_seek(file, 3, MPI_SEEK_SET), MPI_SUCCESS, "a right call afterwards");
  gives(MPI_File_get_position(file, &at), MPI_SUCCESS, "MPI_File_get_position");
  is(at, 3, "file pointer");
  nobody_called("handlers of right calls");
  default_again();
  closed(file);
}

static MPI_File other_file;
static MPI_Errhandler next_one;
static int depth;
static void uses_files(MPI_File* file, int* code, ...) {
  MPI_Offset at;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  note('u', *file, *code);
  gives(MPI_File_get_position(*file, &at), MPI_SUCCESS, "a call in a handler");
  gives(MPI_File_write_at(other_file, 0, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS,
        "writing in a handler");
  check(MPI_Error_string(*code, text, &length) == MPI_SUCCESS && length > 0, "no text in a handler");
  if (depth++ == 0) gives(fails(*file), MPI_ERR_ARG, "an error in a handler");
  gives(MPI_File_set_errhandler(*file, next_one), MPI_SUCCESS, "another handler set in a handler");
}

static void handlers_may_use_files(void) {
  MPI_File file = opened();
  MPI_Errhandler handler;
  other_file = opened_as(second);
  next_one = made('a');
  MPI_File_create_errhandler(uses_files, &handler);
  set_and_free(file, handler);
  gives(fails(file), MPI_ERR_ARG, "an error");
  is(called, 2, "handlers called, one from within the other");
  called = 0;
  fails(file);
  called_once('a', file, MPI_ERR_ARG, "the handler that the handler has set");
  MPI_Errhandler_free(&next_one);
  closed(file), closed(other_file);
}

static void closes(MPI_File* file, int* code, ...) {
  note('c', *file, *code);
  gives(MPI_File_close(file), MPI_SUCCESS, "closing in a handler");
}

static void handlers_may_close_the_file(void) {
  MPI_File file = opened();
  MPI_Errhandler handler;
  MPI_File_create_errhandler(closes, &handler);
  set_and_free(file, handler);
  const MPI_File was = file;
  gives(MPI_File_write_at_all(file, -1, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG, "an error");
  called_once('c', was, MPI_ERR_ARG, "a handler that closes");
  closed(opened());
}

static void for_communicators(MPI_Comm* communicator, int* code, ...) { (void)communicator, (void)code; }

static void wrong_handlers_are_refused(void) {
  MPI_File file = opened();
  MPI_Errhandler wrong, a = made('a');
  MPI_Comm_create_errhandler(for_communicators, &wrong);
  set(file, a);
  const int code = MPI_File_set_errhandler(file, wrong);
  check(code != MPI_SUCCESS, "a communicator's handler is taken for a file");
  check(MPI_File_set_errhandler(file, MPI_ERRHANDLER_NULL) != MPI_SUCCESS,
        "MPI_ERRHANDLER_NULL is taken for a handler");
  called = 0;
  handler_is(file, a);
  fails(file);
  called_once('a', file, MPI_ERR_ARG, "the handler that was there before");
  MPI_Errhandler_free(&wrong);
  MPI_Errhandler_free(&a);
  closed(file);
}

static void all_are_told_of_a_failing_collective_call(void) {
  MPI_File file = opened();
  set_and_free(file, made('a'));
  const int wrong = rank == tasks - 1;
  gives(MPI_File_write_at_all(file, wrong ? -1 : rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG,
        "write_at_all");
  called_once('a', file, MPI_ERR_ARG, "write_at_all");
  const int code = MPI_File_write_at(file, wrong ? -1 : rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE);
  gives(code, wrong ? MPI_ERR_ARG : MPI_SUCCESS, "write_at");
  if (wrong)
    called_once('a', file, MPI_ERR_ARG, "write_at");
  else
    nobody_called("handlers of tasks that did nothing wrong");
  closed(file);
}

static void no_end_of_making_and_freeing(void) {
  for (int i = 0; i < 200; ++i) {
    MPI_File file = MPI_FILE_NULL;
    set_and_free(MPI_FILE_NULL, made(i % 2 ? 'a' : 'b'));
    MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (file == MPI_FILE_NULL)
      break; /* the open failed, because there are no such files, and called the handler */
    fails(file);
    called_once(i % 2 ? 'a' : 'b', file, MPI_ERR_ARG, "one of many");
    MPI_File_close(&file);
  }
  called = 0;
  default_again();
}

#define CASE(name) \
  { #name, name }
static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    CASE(errors_return_at_first),
    CASE(predefined_ones_are_given_back),
    CASE(each_file_has_its_own),
    CASE(one_that_is_freed_stays_in_use),
    CASE(what_get_gives_can_be_set_elsewhere),
    CASE(opens_inherit),
    CASE(calls_without_a_file_use_the_default),
    CASE(call_errhandler_calls),
    CASE(the_code_that_is_left_is_returned),
    CASE(handlers_may_use_files),
    CASE(handlers_may_close_the_file),
    CASE(wrong_handlers_are_refused),
    CASE(all_are_told_of_a_failing_collective_call),
    CASE(no_end_of_making_and_freeing),
};

void run_cases(const char* there) {
  snprintf(path, sizeof path, "%s", there);
  snprintf(second, sizeof second, "%s.second", there);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    now("%s", cases[i].name);
    cases[i].run();
    nobody_called("handlers called without an error");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) MPI_File_delete(second, MPI_INFO_NULL);
}
