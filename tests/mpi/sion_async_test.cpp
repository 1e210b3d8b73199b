// Saving in the background in MPI programs: states, the collective wait, hosts, errors, and the end of MPI.
#include "mpi/sion_mpi_case.hpp"
#include "sheaf_mpi.h"

namespace sheaf::test {
namespace {

std::vector<std::byte> bytes_of(int number, int rank) {
  return content(rank + 100 * number, 0, 300'000 + 1000 * rank);
}

sheaf_save* begin(const std::string& file, int number, const char* mode = "bw,async", int files = 1) {
  ParallelOpenCall open;
  open.file = file;
  open.mode = mode;
  open.files = files;
  open.chunk = 100'000;
  open.block = 4096;
  const int sid = open();
  require(sid >= 0, "open");
  const auto data = bytes_of(number, me);
  require(sion_fwrite(data.data(), 1, data.size(), sid) == data.size(), "fwrite");
  sheaf_save* const save = sheaf_parclose_async(sid);
  require(save != nullptr, "close");
  require(sheaf_save_test(save) >= SHEAF_SAVE_CAPTURED, "captured");
  return save;
}

void check(const std::string& file, int number, const std::string& generation = "") {
  ParallelOpenCall open;
  open.file = file;
  open.mode = "br";
  const int sid = open();
  require(sid >= 0, "open to read");
  char text[SHEAF_GENERATION_SIZE] = "";
  require(sheaf_generation(sid, text) == 1, "its generation");
  require(generation.empty() || generation == text, "the generation of the save");
  std::vector<std::byte> found(bytes_of(number, me).size() + 1);
  found.resize(sion_fread(found.data(), 1, found.size(), sid));
  require(found == bytes_of(number, me), "the bytes of the generation");
  require(sion_parclose_mpi(sid) == SION_SUCCESS, "close");
}

void saves_become_durable(const char* mode, const std::string& name) {
  doing = "saves become durable";
  const std::string file = directory + "/" + name;
  for (int number = 1; number <= 3; ++number) {
    sheaf_save* const save = begin(file, number, mode);
    require(sheaf_save_wait_mpi(save, SHEAF_SAVE_DURABLE, MPI_COMM_WORLD) == 1, "wait");
    require(sheaf_save_test(save) == SHEAF_SAVE_DURABLE, "durable");
    char generation[SHEAF_GENERATION_SIZE] = "";
    require(sheaf_save_generation(save, generation) == 1, "the generation");
    sheaf_save_free(save);
    check(file, number, generation);
  }
}

void saves_wait_for_each_other() {
  doing = "an open waits for the pending save of its name";
  const std::string file = path("waiting");
  sheaf_save* const first = begin(file, 1);
  sheaf_save* const second = begin(file, 2);
  require(sheaf_save_test(first) == SHEAF_SAVE_DURABLE, "the first one is durable");
  require(sheaf_save_wait(second, SHEAF_SAVE_DURABLE) == 1, "wait");
  sheaf_save_free(first);
  sheaf_save_free(second);
  MPI_Barrier(MPI_COMM_WORLD);
  check(file, 2);
}

void saves_are_queued() {
  doing = "queued saves";
  const std::string file = path("queued");
  sheaf_save* saves[4];
  for (int number = 0; number < 4; ++number)
    saves[number] = begin(file, number + 1, "bw,async,pending=queue");
  for (sheaf_save* const save : saves) {
    require(sheaf_save_wait_mpi(save, SHEAF_SAVE_DURABLE, MPI_COMM_WORLD) == 1, "wait");
    sheaf_save_free(save);
  }
  check(file, 4);
}

void the_number_of_files_is_overridden() {
  doing = "physical files";
  sheaf_print_errors(0);
  sheaf_save* const save = begin(path("files"), 1, "bw,async", size > 1 ? 2 : 1);
  sheaf_print_errors(1);
  require(sheaf_save_wait_mpi(save, SHEAF_SAVE_DURABLE, MPI_COMM_WORLD) == 1, "wait");
  sheaf_save_free(save);
  check(path("files"), 1);
}

// The last save is finished by MPI_Finalize or the exit.
void a_save_is_left_to_finalize() {
  doing = "a save that is pending when MPI ends";
  sheaf_save_free(begin(path("left"), 9));
}

}  // namespace
}  // namespace sheaf::test

int main(int argc, char** argv) {
  using namespace sheaf::test;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[200] = "/tmp/sheaf_async_XXXXXX";
  if (me == 0 && !mkdtemp(name)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  directory = name;
  saves_become_durable("bw,async", "one");
  saves_become_durable("bw,async,files=1", "shared");
  saves_become_durable("bw,async,async_memory=1M", "small");
  saves_become_durable("bw,async,compress=lz4", "compressed");
  saves_become_durable("bw,async,files=1,compress=lz4", "compressed.shared");
  saves_wait_for_each_other();
  saves_are_queued();
  the_number_of_files_is_overridden();
  a_save_is_left_to_finalize();
  const std::string file = path("left");
  MPI_Finalize();
  if (me == 0) {
    int ntasks = 0;
    require(std::filesystem::exists(file), "the pending save has its name after MPI_Finalize");
    const int sid = sion_open(const_cast<char*>(file.c_str()), "rb", &ntasks, nullptr, nullptr, nullptr,
                              nullptr, nullptr);
    require(sid >= 0 && ntasks == size, "the pending save is complete");
    sion_close(sid);
    std::filesystem::remove_all(directory);
  }
  return 0;
}
