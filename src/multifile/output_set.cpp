#include "multifile/output_set.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace sheaf {

namespace {

constexpr int most_suffixes = 100;

std::string temporary_name(const std::string& name, int suffix) {
  return name + ".part" + (suffix > 0 ? std::to_string(suffix) : "");
}

}  // namespace

OutputSet::~OutputSet() {
  for (size_t i = committed_; i < names_.size(); ++i) {
    try {
      store_.remove(temporary(i));
    } catch (const Error&) {
      // Somebody else has removed it, or nobody can: there is no one to tell.
    }
  }
}

std::string OutputSet::temporary(size_t number) const {
  return temporary_name(names_[number].final, names_[number].suffix);
}

void OutputSet::check(const std::string& name) const {
  const FileStatus status = store_.status(name);
  if (!status.exists) return;
  if (status.is_directory)
    throw file_error(Code::invalid_argument, name, "is a directory; give the name of a file");
  if (status.is_special)
    throw file_error(Code::invalid_argument, name, "is not a regular file and is not replaced");
  if (existing_ == Existing::refuse)
    throw file_error(Code::invalid_argument, name, "exists already; use --force to replace it");
}

std::shared_ptr<File> OutputSet::add(const std::string& name) {
  check(name);
  for (int suffix = 0;; ++suffix) {
    try {
      auto file = store_.open(temporary_name(name, suffix), Access::fresh);
      names_.push_back({name, suffix});
      return file;
    } catch (const Error& error) {
      if (error.errno_value() != EEXIST || suffix == most_suffixes) throw;
    }
  }
}

void OutputSet::commit() {
  for (; committed_ < names_.size(); ++committed_) {
    check(names_[committed_].final);
    store_.rename(temporary(committed_), names_[committed_].final);
  }
}

}  // namespace sheaf
