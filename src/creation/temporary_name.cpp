#include "creation/temporary_name.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/error.hpp"
#include "base/random.hpp"
#include "creation/constants.hpp"
#include "creation/copy_stream.hpp"
#include "creation/output_set.hpp"
#include "format/header.hpp"

namespace sheaf {

namespace {
constexpr std::string_view marker = ".sheaf-tmp.";
constexpr size_t digits = creation_constants::random_digits;  // as the format below has them
}  // namespace

std::string temporary_name(std::string_view path, uint64_t number) {
  char text[digits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return format::physical_name(std::string(path).append(marker).append(text), 0);
}

std::string temporary_name(std::string_view path) { return temporary_name(path, random_number()); }

std::optional<uint64_t> number_of_temporary(std::string_view temporary) {
  if (!final_name(temporary)) return std::nullopt;
  const std::string_view text = temporary.substr(temporary.size() - digits);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

std::optional<std::string> final_name(std::string_view temporary) {
  const size_t length = marker.size() + digits;
  if (temporary.size() <= length) return std::nullopt;
  const std::string_view end = temporary.substr(temporary.size() - length);
  if (!end.starts_with(marker) ||
      end.find_first_not_of("0123456789abcdef", marker.size()) != std::string_view::npos)
    return std::nullopt;
  return std::string(temporary.substr(0, temporary.size() - length));
}

namespace {

// A link may lead to another file system, into which a file cannot be renamed.
void move(Store& store, const std::string& from, const std::string& to, const std::string& target,
          std::optional<uint64_t> lease) {
  try {
    return store.rename(from, target);
  } catch (const Error& error) {
    if (error.errno_value() != EXDEV || target == to) throw;
  }
  WorkProgress nobody;
  OutputSet outputs(store, OutputSet::Existing::replace);
  if (lease) outputs.act_for(*lease);
  const auto source = store.open(from, Access::read);
  const auto copy = outputs.add(target, from);
  const int64_t size = source->status().size;
  RangeCopier copier(*copy, nobody);
  copier.add(*source, 0, 0, size);
  copier.finish();
  if (copy->status().size < size) copy->resize(size);  // it ends in a hole
  copy->sync();
  copy->close();
  outputs.commit();
  store.remove(from);
}

}  // namespace

void rename_set(Store& store, const std::string& temporary, const std::string& path, int32_t nfiles,
                bool durable) {
  const std::string target = store.target_of(path);
  store.take_after(temporary, path, Making::done);
  if (nfiles > 1 && store.status(path).exists) store.remove(target);
  for (int32_t k = nfiles - 1; k >= 0; --k) {
    const std::string from = format::physical_name(temporary, k);
    const std::string to = format::physical_name(path, k);
    // One that is not there was renamed by a call before.
    if (k > 0 && !store.status(from).exists) continue;
    if (k > 0) store.take_after(from, to, Making::done);
    move(store, from, to, k > 0 ? store.target_of(to) : target, number_of_temporary(temporary));
  }
  if (!durable) return;
  store.sync_name(path);
  if (target != path) store.sync_name(target);
}

}  // namespace sheaf
