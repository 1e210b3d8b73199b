/* behaviour DIRECTORY: guarantees of the MPI-IO standard besides the transfer of bytes: handlers, classes,
 * handles, modes, pointers, representations, requests. The program is linked with the MPI alone. Rank 0
 * prints "all right" or the failed line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, tasks, wrong;
static char path[512];

#define CHECK(condition)                                        \
  do {                                                          \
    if (!(condition)) {                                         \
      printf("[%d] line %d: %s\n", rank, __LINE__, #condition); \
      wrong = 1;                                                \
    }                                                           \
  } while (0)

static MPI_File called_with;
static int called_code;
static void handler(MPI_File* file, int* code, ...) {
  called_with = *file;
  called_code = *code;
}

static MPI_File opened(int amode) {
  MPI_File file = MPI_FILE_NULL;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  return file;
}

static int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

static void handlers(void) {
  MPI_Errhandler made, got;
  MPI_File none = MPI_FILE_NULL;
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_get_errhandler(file, &got);
  CHECK(got == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&got);
  MPI_File_create_errhandler(handler, &made);
  CHECK(MPI_File_set_errhandler(file, made) == MPI_SUCCESS);
  MPI_File_get_errhandler(file, &got);
  CHECK(got == made);
  MPI_Errhandler_free(&got);
  char byte = 0;
  CHECK(class_of(MPI_File_write_at(file, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
  CHECK(called_with == file && class_of(called_code) == MPI_ERR_ARG);
#ifdef MPI_ABI /* leaves handles of Fortran to a library of its own */
  CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);
  CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
#else
  CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
#endif
  CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
  CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, made) == MPI_SUCCESS);
  called_code = MPI_SUCCESS;
  CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &none)) ==
        MPI_ERR_NO_SUCH_FILE);
  CHECK(class_of(called_code) == MPI_ERR_NO_SUCH_FILE && called_with == MPI_FILE_NULL);
  file = opened(MPI_MODE_RDWR); /* inherits */
  called_code = MPI_SUCCESS;
  CHECK(class_of(MPI_File_seek(file, -5, MPI_SEEK_SET)) == MPI_ERR_ARG &&
        class_of(called_code) == MPI_ERR_ARG);
  MPI_Errhandler_free(&made);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_File_seek(file, -5, MPI_SEEK_SET)) == MPI_ERR_ARG && called_with == file);
  MPI_File_close(&file);
}

static void forgiving(MPI_File* file, int* code, ...) {
  (void)file;
  *code = MPI_SUCCESS;
}

/* A failing call must return the code that its handler set. Its message must state place and reason. */
static void what_failures_say(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR), none = MPI_FILE_NULL;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  int code = MPI_File_open(MPI_COMM_WORLD, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
  CHECK(class_of(code) == MPI_ERR_NO_SUCH_FILE && MPI_Error_string(code, text, &length) == MPI_SUCCESS);
  CHECK(strstr(text, "/nonexistent/x") && (size_t)length == strlen(text));
  MPI_Datatype twice;
  const int lengths[2] = {4, 4}, places[2] = {0, 2};
  MPI_Type_indexed(2, lengths, places, MPI_BYTE, &twice);
  MPI_Type_commit(&twice);
  code = MPI_File_set_view(file, 0, MPI_BYTE, twice, "native", MPI_INFO_NULL);
  CHECK(class_of(code) == MPI_ERR_IO && MPI_Error_string(code, text, &length) == MPI_SUCCESS);
  CHECK(strstr(text, path) && strstr(text, "extent 6"));
  MPI_Type_free(&twice);
  MPI_Errhandler handler;
  MPI_File_create_errhandler(forgiving, &handler);
  MPI_File_set_errhandler(file, handler);
  MPI_Errhandler_free(&handler);
  CHECK(MPI_File_seek(file, -5, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Views may span more than their extent, as Open MPI's type of a structure with resized members does. */
static void views_that_span_more(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype pieces, type;
  const int lengths[2] = {4, 4}, places[2] = {0, 20};
  char bytes[16], back[16] = "";
  MPI_Type_indexed(2, lengths, places, MPI_BYTE, &pieces);
  MPI_Type_create_resized(pieces, 0, 8, &type);
  MPI_Type_commit(&type);
  memset(bytes, 'a' + rank, sizeof bytes);
  CHECK(MPI_File_set_view(file, 1000 * rank, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_write_at_all(file, 0, bytes, 16, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_read_at_all(file, 0, back, 16, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        memcmp(bytes, back, 16) == 0);
  CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 1000 * rank + 28, back, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        memcmp(bytes, back, 4) == 0);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Type_free(&pieces);
  MPI_Type_free(&type);
}

static void modes(void) {
  MPI_File file = MPI_FILE_NULL;
  char byte = 'x';
  int amode = 0;
  CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_RDONLY, MPI_INFO_NULL,
                               &file)) == MPI_ERR_AMODE);
  CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                               MPI_INFO_NULL, &file)) == MPI_ERR_FILE_EXISTS);
  if (tasks > 1)
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, rank ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL,
                                 &file)) == MPI_ERR_NOT_SAME);
  file = opened(MPI_MODE_RDONLY);
  CHECK(class_of(MPI_File_write(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
  CHECK(class_of(MPI_File_write_all(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
  MPI_File_close(&file);
  file = opened(MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_get_amode(file, &amode);
  CHECK(amode == (MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE));
  CHECK(class_of(MPI_File_read(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS);
  MPI_File_close(&file);
  CHECK(class_of(MPI_File_delete(path, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
  CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_FILE);
  /* The other end of the pipe is not open. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(mkfifo(path, 0666) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) ==
        MPI_ERR_BAD_FILE);
  CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                               &file)) == MPI_ERR_BAD_FILE);
  if (rank == 0) CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* One task passes a bad argument. The call must fail on all tasks, and none may hang. */
static void one_fails(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  int data[4] = {rank, rank, rank, rank};
  const int bad = rank == tasks - 1;
  CHECK(MPI_File_write_at_all(file, 0, data, bad ? -1 : 4, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  CHECK(MPI_File_write_ordered(file, data, bad ? -1 : 4, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  /* An invalid view must fail on its task at once, and on all others in the next collective transfer. */
  CHECK((MPI_File_set_view(file, bad ? -3 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS) ==
        bad);
  CHECK(class_of(MPI_File_write_at_all(file, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
  CHECK(MPI_File_write_at_all(file, 4 * rank, data, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK((MPI_File_set_view(file, bad ? -3 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS) ==
        bad);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_read_at_all(file, 4 * rank, data, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "cb_nodes", "1");
  CHECK((MPI_File_set_view(file, bad ? -3 : 0, MPI_INT, MPI_INT, "native", hints) != MPI_SUCCESS) == bad);
  CHECK(MPI_File_read_at_all(file, 4 * rank, data, 4, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  /* Only some tasks pass hints. No task may wait for the others. */
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", bad ? hints : MPI_INFO_NULL) == MPI_SUCCESS);
  if (bad)
    for (int t = 0; t < rank; ++t) MPI_Send(data, 0, MPI_INT, t, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(data, 0, MPI_INT, tasks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", bad ? MPI_INFO_NULL : hints) == MPI_SUCCESS);
  CHECK(MPI_File_read_at_all(file, 4 * rank, data, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Info_free(&hints);
  CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "nonsense", MPI_INFO_NULL)) ==
        MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK(MPI_File_read_at_all(file, 0, data, 4, bad ? MPI_DATATYPE_NULL : MPI_INT, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS);
  MPI_File_close(&file);
}

static void pointers(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Offset at = -1;
  MPI_Status status;
  int count = -1, mine[2] = {rank, -rank}, back[64];
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  CHECK(MPI_File_write_ordered(file, mine, 1 + rank % 2, MPI_INT, &status) == MPI_SUCCESS);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1 + rank % 2);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &at);
  CHECK(at == tasks + tasks / 2);
  MPI_File_read_at(file, 0, back, 64, MPI_INT, &status); /* ends at the end of the file */
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == tasks + tasks / 2);
  for (int t = 0, i = 0; t < tasks; ++t)
    for (int k = 0; k < 1 + t % 2; ++k) CHECK(back[i++] == (k ? -t : t));
  MPI_File_seek(file, -1, MPI_SEEK_END);
  MPI_File_get_position(file, &at);
  CHECK(at == tasks + tasks / 2 - 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_write_shared(file, mine, 1, MPI_INT, &status) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &at);
  CHECK(at == 2 * tasks + tasks / 2);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_seek_shared(file, 1, MPI_SEEK_SET) == MPI_SUCCESS);
  MPI_File_get_position_shared(file, &at);
  CHECK(at == 1);
  MPI_File_close(&file);
}

/* Calls at the shared pointer must wait while another one moves it. All must find the same position. */
static void a_pointer_that_still_moves(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  const int moves = tasks > 1 && rank == 1;
  MPI_Offset at = -1;
  MPI_File_set_size(file, 0);
  if (moves) usleep(100000);
  if (moves) CHECK(MPI_File_write_shared(file, "abcd", 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_CUR) == MPI_SUCCESS);
  MPI_File_get_position_shared(file, &at);
  CHECK(at == (tasks > 1 ? 4 : 0));
  CHECK(class_of(MPI_File_set_size(file, rank == 0 ? -1 : 8)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_preallocate(file, rank == 0 ? -1 : 8)) == MPI_ERR_ARG);
  MPI_File_close(&file);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  file = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  if (moves) usleep(100000);
  if (moves) CHECK(MPI_File_write_shared(file, "abcdefgh", 8, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_write_ordered(file, &rank, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_File_get_size(file, &at);
  CHECK(at == (tasks > 1 ? 8 : 0) + 4 * tasks);
  MPI_File_close(&file);
}

static void views(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype nothing, strided, etype, filetype;
  MPI_Offset displacement;
  MPI_Group group, all;
  MPI_Info info;
  MPI_Aint extent;
  char name[MPI_MAX_DATAREP_STRING];
  int same, value = rank;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  MPI_Type_vector(3, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  CHECK(MPI_File_set_view(file, 4, MPI_INT, rank ? nothing : strided, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_write_all(file, &value, rank ? 0 : 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_File_set_view(file, 4, MPI_INT, strided, "native", MPI_INFO_NULL);
  MPI_Type_free(&nothing);
  MPI_Type_free(&strided);
  MPI_File_get_view(file, &displacement, &etype, &filetype, name);
  CHECK(displacement == 4 && etype == MPI_INT && strcmp(name, "native") == 0);
  MPI_Type_get_extent(filetype, &extent, &extent);
  CHECK(extent == 20);
  MPI_Type_free(&filetype);
  MPI_File_get_byte_offset(file, 4, &displacement);
  CHECK(displacement == 4 + 20 + 8);
  MPI_File_get_group(file, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_compare(group, all, &same);
  CHECK(same == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "nobody_knows", "1");
  CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS);
  MPI_Info_free(&info);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "cb_nodes", 15, name, &same);
  CHECK(same && strcmp(name, "1") == 0);
  MPI_Info_free(&info);
  MPI_File_close(&file);
}

static int hint_is(MPI_File file, const char* key, const char* wanted) {
  MPI_Info info;
  char value[64] = "";
  int found = 0;
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, key, 63, value, &found);
  MPI_Info_free(&info);
  return found && strcmp(value, wanted) == 0;
}

/* Valid hints must take effect and be returned by queries. Aggregators that are requested on an unknown
 * host must be placed on other hosts. */
static void hints(void) {
  static const char* const given[][2] = {{"cb_nodes", "2"},
                                         {"cb_buffer_size", "131072"},
                                         {"romio_cb_write", "enable"},
                                         {"romio_cb_read", "disable"},
                                         {"romio_ds_write", "disable"},
                                         {"romio_ds_read", "enable"},
                                         {"ind_rd_buffer_size", "65536"},
                                         {"ind_wr_buffer_size", "32768"},
                                         {"striping_unit", "8192"},
                                         {"striping_factor", "3"},
                                         {"cb_config_list", "nowhere.example:2,*:1"},
                                         {"romio_no_indep_rw", "false"}};
  MPI_File file = MPI_FILE_NULL;
  MPI_Datatype strided;
  MPI_Info info;
  int mine[64], back[64];
  const int n = sizeof given / sizeof *given;
  MPI_Info_create(&info);
  for (int i = 0; i < n; ++i) MPI_Info_set(info, given[i][0], given[i][1]);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS);
  for (int i = 0; i < n; ++i) CHECK(hint_is(file, given[i][0], given[i][1]));
  MPI_Info_set(info, "romio_no_indep_rw", "true");
  CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS && hint_is(file, "romio_cb_read", "enable"));
  MPI_Info_set(info, "cb_nodes", "nonsense");
  MPI_Info_set(info, "cb_config_list", "nowhere.example");
  CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS);
  CHECK(hint_is(file, "cb_nodes", "2") && hint_is(file, "cb_config_list", "nowhere.example"));
  MPI_Info_free(&info);
  MPI_Type_vector(64, 1, tasks, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, strided, "native", MPI_INFO_NULL);
  for (int i = 0; i < 64; ++i) mine[i] = 100 * rank + i;
  CHECK(MPI_File_write_all(file, mine, 64, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_read_at_all(file, 0, back, 64, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        memcmp(mine, back, sizeof back) == 0);
  MPI_Type_free(&strided);
  MPI_File_close(&file);
}

/* A user-defined data representation that stores each int negated in 8 bytes. */
static int conversions;
static int file_extent_of(MPI_Datatype type, MPI_Aint* extent, void* state) {
  (void)type;
  *extent = *(int*)state;
  return MPI_SUCCESS;
}
static int to_file(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* state) {
  (void)type, (void)state;
  ++conversions;
  for (int i = 0; i < count; ++i) {
    const long long value = -(long long)((int*)user)[position + i];
    memcpy((char*)file + 8 * i, &value, 8);
  }
  return MPI_SUCCESS;
}
static int from_file(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* state) {
  (void)type, (void)state;
  ++conversions;
  for (int i = 0; i < count; ++i) {
    long long value;
    memcpy(&value, (char*)file + 8 * i, 8);
    ((int*)user)[position + i] = (int)-value;
  }
  return MPI_SUCCESS;
}

static void registered_representation(void) {
  static int bytes = 8;
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  int values[5] = {rank, 1, -2, 3, 4}, back[5] = {0};
  long long raw[5];
  CHECK(MPI_Register_datarep("negatives", from_file, to_file, file_extent_of, &bytes) == MPI_SUCCESS);
  CHECK(class_of(MPI_Register_datarep("negatives", from_file, to_file, file_extent_of, &bytes)) ==
        MPI_ERR_DUP_DATAREP);
  CHECK(MPI_File_set_view(file, rank * 40, MPI_INT, MPI_INT, "negatives", MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_write_all(file, values, 5, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_read_at_all(file, 0, back, 5, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(memcmp(values, back, sizeof back) == 0 && conversions >= 2);
  MPI_File_set_view(file, rank * 40, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, raw, 40, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK(raw[0] == -rank && raw[2] == 2 && raw[4] == -4);
  MPI_File_close(&file);
}

/* Calls through the PMPI_ names, which tools and bindings use, and calls with large counts must reach the
 * same files. */
static void other_names(void) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Offset size = 0;
  int value = 7 + rank, back = 0;
  CHECK(PMPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS);
  CHECK(hint_is(file, "romio_cb_write", "automatic"));
  CHECK(PMPI_File_write_at_all(file, rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, rank * 4, &back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        back == value);
#if MPI_VERSION >= 4
  MPI_Count count = 0;
  MPI_Status status;
  value = -value;
  CHECK(MPI_File_write_at_all_c(file, rank * 4, &value, 1, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(PMPI_File_read_at_c(file, rank * 4, &back, 1, MPI_INT, &status) == MPI_SUCCESS && back == value);
  MPI_Get_count_c(&status, MPI_INT, &count);
  CHECK(count == 1);
#endif
  PMPI_File_get_size(file, &size);
  CHECK(size >= 4);
  CHECK(PMPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
}

/* Covers groups within the world, reversed ranks, tasks without data, and tasks with different views. */
static void small_groups(void) {
  MPI_Comm half;
  MPI_File file = MPI_FILE_NULL;
  MPI_Datatype view;
  char name[600];
  int mine[30], back[30], me, all;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_rank(half, &me);
  MPI_Comm_size(half, &all);
  snprintf(name, sizeof name, "%s.%d", path, rank % 2);
  const int n = me == all - 1 && all > 1 ? 0 : 30;
  for (int i = 0; i < 30; ++i) mine[i] = 1000 * me + i;
  CHECK(MPI_File_open(half, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_Type_vector(10 + me, 1, 2 + me, MPI_INT, &view);
  MPI_Type_commit(&view);
  MPI_File_set_view(file, 100000 * (MPI_Offset)me, MPI_INT, view, "native", MPI_INFO_NULL);
  CHECK(MPI_File_write_all(file, mine, n, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_read_at_all(file, 0, back, n, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(memcmp(mine, back, (size_t)n * sizeof *back) == 0);
  CHECK(MPI_File_write_at_all(file, 0, mine, 0, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Type_free(&view);
  MPI_File_close(&file);
  MPI_Comm_free(&half);
}

static void representations(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  long values[3] = {1 + rank, -2, 3}, back[3] = {0, 0, 0}, large = 1L << 40;
  long double wide = 1.5L + rank, wide_back = 0;
  unsigned char raw[12];
  int count = 0;
  MPI_Status status;
  MPI_Aint extent = 0;
  MPI_File_set_view(file, rank * 100, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL);
  MPI_File_get_type_extent(file, MPI_LONG, &extent);
  CHECK(extent == 4);
  CHECK(MPI_File_write(file, values, 3, MPI_LONG, &status) == MPI_SUCCESS);
  MPI_Get_count(&status, MPI_LONG, &count);
  CHECK(count == 3);
  CHECK(MPI_File_read_at(file, 0, back, 3, MPI_LONG, &status) == MPI_SUCCESS);
  CHECK(memcmp(values, back, sizeof back) == 0);
  CHECK(class_of(MPI_File_write(file, &large, 1, MPI_LONG, &status)) == MPI_ERR_CONVERSION);
  CHECK(MPI_File_write_at(file, 4, &wide, 1, MPI_LONG_DOUBLE, &status) == MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 4, &wide_back, 1, MPI_LONG_DOUBLE, &status) == MPI_SUCCESS &&
        wide == wide_back);
  MPI_File_set_view(file, rank * 100, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, raw, 12, MPI_BYTE, &status);
  CHECK(raw[0] == 0 && raw[3] == 1 + rank && raw[4] == 0xFF && raw[7] == 0xFE && raw[11] == 3);
  MPI_File_close(&file);
}

/* A nonblocking collective call must not wait for other tasks. Blocking and nonblocking calls mix. */
/* Frees the request of a call in flight, which must not write its final status to reused memory. */
static void request_given_back(MPI_File file, const int* data, int n) {
  enum { blocks = 200, bytes = 16 };
  static const char pattern[bytes] = "a block of ours";
  char* block[blocks];
  MPI_Request request;
  CHECK(MPI_File_iwrite_at(file, (MPI_Offset)rank * n * 4, data, n, MPI_INT, &request) == MPI_SUCCESS);
  CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
  for (int i = 0; i < blocks; ++i) block[i] = memcpy(malloc(bytes), pattern, bytes);
  CHECK(MPI_File_set_info(file, MPI_INFO_NULL) == MPI_SUCCESS); /* waits for the call to end */
  for (int i = 0; i < blocks; ++i) {
    CHECK(memcmp(block[i], pattern, bytes) == 0);
    free(block[i]);
  }
}

static void requests(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  const int n = 1 << 19;
  int *data = malloc(n * sizeof *data), *back = calloc(n, sizeof *back), token = 0, count = 0;
  MPI_Request request[2];
  MPI_Status status[2];
  for (int i = 0; i < n; ++i) data[i] = rank * n + i;
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(MPI_File_iwrite_at_all(file, (MPI_Offset)rank * n * 4, data, n / 2, MPI_INT, &request[0]) ==
        MPI_SUCCESS);
  CHECK(MPI_File_iwrite_at(file, (MPI_Offset)rank * n * 4 + n * 2, data + n / 2, n / 2, MPI_INT,
                           &request[1]) == MPI_SUCCESS);
  if (rank == 0)
    for (int t = 1; t < tasks; ++t) MPI_Send(&token, 1, MPI_INT, t, 0, MPI_COMM_WORLD);
  MPI_Waitall(2, request, status);
  MPI_Get_count(&status[0], MPI_INT, &count);
  CHECK(count == n / 2);
  CHECK(MPI_File_read_at_all(file, (MPI_Offset)rank * n * 4, back, n, MPI_INT, &status[0]) == MPI_SUCCESS);
  CHECK(memcmp(data, back, n * sizeof *data) == 0);
  if (getenv("BEHAVIOUR_THREADS")) request_given_back(file, data, n);
  CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
  MPI_File_get_atomicity(file, &count);
  CHECK(count == 1);
  MPI_File_read_all_begin(file, back, 1, MPI_INT);
  CHECK(MPI_File_write_all_begin(file, data, 1, MPI_INT) != MPI_SUCCESS);
  CHECK(MPI_File_read_all_end(file, back, &status[0]) == MPI_SUCCESS && back[0] == 0);
  CHECK(MPI_File_sync(file) == MPI_SUCCESS);
  MPI_File_close(&file);
  free(data);
  free(back);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, getenv("BEHAVIOUR_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  snprintf(path, sizeof path, "%s/behaviour", argc > 1 ? argv[1] : ".");
  handlers();
  what_failures_say();
  views_that_span_more();
  modes();
  one_fails();
  pointers();
  a_pointer_that_still_moves();
  views();
  hints();
  registered_representation();
  other_names();
  small_groups();
  representations();
  requests();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  if (rank == 0 && !wrong) printf("all right\n");
  MPI_Finalize();
  return wrong;
}
