#include "multifile/create/file_table.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "comm/agree.hpp"
#include "multifile/create/constants.hpp"
#include "storage/store.hpp"

namespace sheaf::multifile {

using namespace creation_constants;

namespace {

[[noreturn]] void bad_table(const std::string& path, const std::string& finding) {
  throw Error(Code::invalid_argument, "table of physical files '" + path + "': " + finding);
}

std::string read_text(Store& store, const std::string& path, int64_t ntasks) {
  const auto file = store.open(path, Access::read);
  const int64_t size = file->status().size;
  if (size > max_comments + max_comments_per_task * ntasks)
    bad_table(path, std::to_string(size) + " bytes are too many for " + std::to_string(ntasks) + " tasks");
  std::string text(static_cast<size_t>(size), '\0');
  text.resize(file->read_at(std::as_writable_bytes(std::span(text)), 0));
  return text;
}

// Throws unless every file from 0 to the largest number has a task, and there are `ntasks` numbers.
void check_numbers(std::span<const int32_t> numbers, const std::string& path, int64_t ntasks) {
  if (std::ssize(numbers) != ntasks)
    bad_table(path, "it places " + std::to_string(numbers.size()) + " tasks, but " + std::to_string(ntasks) +
                        " tasks open the multifile");
  const int64_t files = ntasks == 0 ? 0 : int64_t{std::ranges::max(numbers)} + 1;
  std::vector<bool> used(static_cast<size_t>(std::min(files, ntasks)));
  for (const int32_t number : numbers)
    if (std::cmp_less(number, used.size())) used[static_cast<size_t>(number)] = true;
  const auto unused = std::ranges::find(used, false);
  if (files > ntasks || unused != used.end())
    bad_table(path, "no task is in file " + std::to_string(unused - used.begin()) + " of the " +
                        std::to_string(files) + " files it names");
}

}  // namespace

std::vector<int32_t> parse_file_table(const std::string& text, const std::string& path, int64_t ntasks) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<int32_t> numbers;
  int64_t line = 1;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    if (*at == '#') {
      at = std::find(at, end, '\n');
    } else if (blanks.find(*at) != blanks.npos) {
      line += *at++ == '\n';
    } else {
      int32_t number = 0;
      const auto [next, error] = std::from_chars(at, end, number);
      const bool ends = next == end || *next == '#' || blanks.find(*next) != blanks.npos;
      if (error != std::errc() || !ends || number < 0 || number == INT32_MAX)
        bad_table(path,
                  "line " + std::to_string(line) + " holds something else than numbers of physical files");
      numbers.push_back(number);
      at = next;
    }
  }
  check_numbers(numbers, path, ntasks);
  return numbers;
}

std::vector<int32_t> read_whole_file_table(Store& store, const std::string& path, int64_t ntasks) {
  return parse_file_table(read_text(store, path, ntasks), path, ntasks);
}

FilePlace read_file_table(Comm& comm, Store& store, const std::string& path) {
  std::vector<int32_t> numbers;
  FilePlace place;
  agree(comm, attempt([&] {
          if (comm.rank() != 0) return;
          numbers = read_whole_file_table(store, path, comm.size());
          place.nfiles = std::ranges::max(numbers) + 1;
        }));
  comm.broadcast(std::as_writable_bytes(std::span(&place.nfiles, 1)), 0);
  comm.scatter_equal(std::as_bytes(std::span(numbers)),
                     std::as_writable_bytes(std::span(&place.filenumber, 1)), 0);
  return place;
}

}  // namespace sheaf::multifile
