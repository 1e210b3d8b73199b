// storage/probes: creates, writes, locks and queries files through one or two directories.
#include "storage/probes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "base/os/deadline.hpp"
#include "base/os/random.hpp"
#include "storage/constants.hpp"
#include "storage/store.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

using ProbeClock = std::chrono::steady_clock;

using namespace storage_constants;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Creates unique names in a directory. The destructor removes the files, through either of the two views.
class ProbeFiles : private NonCopyable {
 public:
  // One name, as seen from each side.
  struct ProbeFileName {
    std::string here;
    std::string there;
  };

  ProbeFiles(const std::string& here, const std::string& there) : begins_{here + prefix_, there + prefix_} {}
  ~ProbeFiles() {
    try {
      std::error_code ignored;
      for (; made_ > 0; --made_) {
        const std::string number = std::to_string(made_);
        if (!std::filesystem::remove(begins_.here + number, ignored) && begins_.there != begins_.here)
          std::filesystem::remove(begins_.there + number, ignored);
      }
    } catch (const std::exception&) {  // out of memory for a name: the file stays
    }
  }
  ProbeFileName next() {
    const std::string number = std::to_string(++made_);
    return {begins_.here + number, begins_.there + number};
  }

 private:
  const std::string prefix_ =
      "/.sheaf-doctor." + std::to_string(::getpid()) + "." + std::to_string(random_number()) + ".";
  const ProbeFileName begins_;
  int made_ = 0;
};

std::shared_ptr<File> opened(const std::string& path, Access access) {
  return posix_store().open(path, access);
}

std::string read_from(File& file, size_t length, int64_t offset = 0) {
  std::string found(length, '\0');
  found.resize(file.read_at(std::as_writable_bytes(std::span(found)), offset));
  return found;
}

// Reads the start of a file. If an open fails because this host has cached an older file under the name,
// opens the file again.
std::string read_anew(const std::string& path, size_t length) {
  for (int again = 0;; ++again) try {
      return read_from(*opened(path, Access::read), length);
    } catch (const Error& error) {
      if (again > 0 || (error.errno_value() != ESTALE && error.errno_value() != ENOENT)) throw;
    }
}

void count(Tried& tried, bool well) {
  ++tried.times;
  tried.well += well ? 1 : 0;
}

// Writes a file with these contents and closes it, so that other hosts can see it.
void write_closed(const std::string& path, Access access, const std::string& text) {
  const auto file = opened(path, access);
  file->write_at(bytes_of(text), 0);
  file->close();
}

double seconds_since(ProbeClock::time_point begin) {
  return std::chrono::duration<double>(ProbeClock::now() - begin).count();
}

void require_same_place(ProbeFiles& scratch, const std::string& here, const std::string& there) {
  const auto name = scratch.next();
  const std::string token = name.here.substr(here.size());
  write_closed(name.here, Access::fresh, token);
  for (const Deadline deadline(appearance); !deadline.expired(); std::this_thread::sleep_for(attribute_look))
    try {
      if (read_anew(name.there, token.size()) == token) return;
    } catch (const Error& error) {
      if (error.code() != Code::not_found && error.errno_value() != ESTALE) throw;
    }
  throw Error(Code::invalid_argument, "'" + there + "' is not the directory '" + here +
                                          "' by another way: a file made in one is not in the other");
}

// One round. All texts have the same length, and each is read through a separate file.
void probe_visibility(PairFindings& found, const std::string& writing, const std::string& reading) {
  const std::array<std::string, 4> texts = {"first ", "second", "third ", "fourth"};
  const size_t length = texts[0].size();
  const auto write = [&](File& file, size_t which) { file.write_at(bytes_of(texts[which]), 0); };
  write_closed(writing, Access::create, texts[0]);
  count(found.after_close, read_anew(reading, length) == texts[0]);
  const auto early = opened(reading, Access::read);
  read_from(*early, length);
  const auto writer = opened(writing, Access::write);
  write(*writer, 1);
  count(found.kept_open, read_from(*early, length) == texts[1]);
  count(found.at_once, read_anew(reading, length) == texts[1]);
  write(*writer, 2);
  writer->sync();
  count(found.after_sync, read_anew(reading, length) == texts[2]);
  write(*writer, 3);
  writer->close();
  count(found.kept_open_after, read_from(*early, length) == texts[3]);
  count(found.after_close, read_anew(reading, length) == texts[3]);
}

void probe_page_of_two(PairFindings& found, const ProbeFiles::ProbeFileName& name) {
  const std::string whole(probe_page, '.');
  opened(name.here, Access::fresh)->write_at(bytes_of(whole), 0);
  const auto here = opened(name.here, Access::write);
  const auto there = opened(name.there, Access::write);
  read_from(*here, whole.size());
  read_from(*there, whole.size());
  here->write_at(bytes_of("here"), 0);
  there->write_at(bytes_of("there"), 100);
  here->close();
  there->close();
  const std::string both = read_anew(name.here, whole.size());
  count(found.page,
        both.size() == whole.size() && both.starts_with("here") && both.substr(100, 5) == "there");
}

std::optional<double> delay_of_attributes(const ProbeFiles::ProbeFileName& name,
                                          const std::function<void()>& check) {
  write_closed(name.here, Access::fresh, "x");
  read_anew(name.there, 1);
  posix_store().status(name.there);
  write_closed(name.here, Access::write, "longer");
  const auto begin = ProbeClock::now();
  for (;;) {
    const bool is_told = posix_store().status(name.there).size == 6;
    const double waited = seconds_since(begin);
    if (is_told) return waited;
    if (waited > max_attribute_delay) return std::nullopt;
    check();
    std::this_thread::sleep_for(attribute_look);
  }
}

LockScope scope_of_locks(const ProbeFiles::ProbeFileName& name) {
  const auto holder = opened(name.here, Access::fresh);
  try {
    const RangeLock held = holder->lock(0, 10, true, OnConflict::refusal);
    if (!held) return LockScope::none;
    const auto keeps_out = [](const std::string& path) {
      return !opened(path, Access::write)->lock(0, 10, true, OnConflict::refusal);
    };
    if (!keeps_out(name.here)) return LockScope::none;
    return keeps_out(name.there) ? LockScope::global : LockScope::host;
  } catch (const Error&) {
    return LockScope::none;  // the file system has no locks
  }
}

// Two threads, one per view, create the same names at the same moments. Each writes a byte into its own unit.
void probe_races(PairFindings& found, ProbeFiles& scratch, int64_t unit, const std::function<void()>& check) {
  for (const Access access : {Access::create, Access::fresh})
    for (int round = 0; round < race_rounds; ++round) {
      check();
      const auto name = scratch.next();
      const std::array<std::string, 2> paths = {name.here, name.there};
      std::array<std::shared_ptr<File>, 2> files;
      std::barrier start(2);
      const auto make = [&](size_t side) {
        start.arrive_and_wait();
        try {
          files[side] = opened(paths[side], access);
          files[side]->write_at(bytes_of(side == 0 ? "a" : "b"), static_cast<int64_t>(side) * unit);
          files[side]->close();
        } catch (const std::exception&) {
          files[side] = nullptr;
        }
      };
      std::thread other(make, 1);
      make(0);
      other.join();
      if (access == Access::fresh) {
        count(found.exclusive, (files[0] == nullptr) != (files[1] == nullptr));
      } else {
        const bool both = files[0] && files[1] && read_anew(paths[0], 1) == "a" &&
                          read_from(*opened(paths[0], Access::read), 1, unit) == "b";
        count(found.create, both);
      }
    }
}

double seconds_of_turns(const ProbeFiles::ProbeFileName& name, int64_t piece, int64_t apart) {
  const auto here = opened(name.here, Access::fresh);
  const auto there = opened(name.there, Access::write);
  const std::string data(static_cast<size_t>(piece), 'x');
  const auto begin = ProbeClock::now();
  for (int64_t i = 0; i < sharing_rounds; ++i) {
    here->write_at(bytes_of(data), 2 * i * piece);
    there->write_at(bytes_of(data), (2 * i + 1) * piece + apart);
  }
  here->close();
  there->close();
  return seconds_since(begin);
}

double cost_of_sharing(ProbeFiles& scratch, int64_t unit, const std::function<void()>& check) {
  const int64_t piece = std::clamp<int64_t>(unit / (2 * sharing_rounds), 1, max_piece);
  std::array<double, 2> best = {1e9, 1e9};
  for (int repeat = 0; repeat < sharing_repeats; ++repeat)
    for (size_t way = 0; way < 2; ++way) {
      check();
      best[way] = std::min(best[way], seconds_of_turns(scratch.next(), piece, way == 0 ? 0 : unit));
    }
  return best[0] / std::max(best[1], 1e-9);
}

bool maps_for_writing(File& file) {
  const auto memory = map_range(file, 0, mapped_bytes);
  if (!memory) return false;
  std::memcpy(memory.get(), "mapped", 6);
  const bool is_read = read_from(file, 6) == "mapped";
  file.write_at(bytes_of("written"), 0);
  return is_read && std::memcmp(memory.get(), "written", 7) == 0;
}

}  // namespace

DirectoryFindings probe_directory(const std::string& directory) {
  DirectoryFindings found;
  ProbeFiles scratch(directory, directory);
  try {
    const auto file = opened(scratch.next().here, Access::fresh);
    // Allocates space, so that stores to the mapping raise no signal.
    file->write_at(bytes_of(std::string(mapped_bytes, '.')), 0);
    found.mmap = maps_for_writing(*file);
    found.fallocate =
        uninterrupted([&] {
          return ::fallocate(file->descriptor(DescriptorKind::file).number, FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
        }) == 0;
  } catch (const Error& error) {
    found.obstacle = error.what();
  }
  return found;
}

PairFindings probe_pair(const std::string& here, const std::string& there, int64_t unit,
                        const std::function<void()>& check) {
  ProbeFiles scratch(here, there);
  PairFindings found;
  require_same_place(scratch, here, there);
  for (int round = 0; round < visibility_rounds; ++round) {
    check();
    const auto name = scratch.next();
    probe_visibility(found, round % 2 == 0 ? name.here : name.there, round % 2 == 0 ? name.there : name.here);
    probe_page_of_two(found, scratch.next());
  }
  found.attribute_delay = delay_of_attributes(scratch.next(), check);
  found.locks = scope_of_locks(scratch.next());
  probe_races(found, scratch, unit, check);
  found.sharing_cost = cost_of_sharing(scratch, unit, check);
  return found;
}

}  // namespace sheaf
