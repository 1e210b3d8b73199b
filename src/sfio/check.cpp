#include "sfio/check.hpp"

#include <algorithm>

#include "sfio/service/subfiles.hpp"

namespace sheaf::sfio {

using format::StripeIdentity;

namespace {

void check_one(StripeReport& report, const StripeName& name, const FoundSubfile& subfile, int index,
               const std::optional<StripeIdentity>& lead) {
  const auto find = [&](std::string what) { report.findings.push_back({index, std::move(what)}); };
  const auto number = [](int64_t n) { return std::to_string(n); };
  if (!subfile.exists) find("is missing");
  if (!subfile.has_identity_file) return find("has no identity (.sfio)");
  if (!subfile.identity) return find("has a damaged identity (.sfio)");
  const StripeIdentity& is = *subfile.identity;
  const StripeIdentity& first = lead ? *lead : is;
  const auto count = std::ssize(name.subfiles);
  if (is.count != count)
    find("is one of " + number(is.count) + " subfiles, but the name lists " + number(count));
  if (is.index != index)
    find("is subfile " + number(is.index) + ", but stands as number " + number(index) + " in the name");
  if (is.file != first.file) find("belongs to another striped file than subfile 0");
  if (is.unit != first.unit)
    find("has a stripe unit of " + number(is.unit) + " bytes, subfile 0 of " + number(first.unit));
  if (name.unit > 0 && is.unit > 0 && is.unit != name.unit)
    find("has a stripe unit of " + number(is.unit) + " bytes, not " + number(name.unit));
  if (!is.complete) find("belongs to a file whose making was interrupted");
  if (subfile.exists && subfile.size < required_size(is))
    find("is short: it has " + number(subfile.size) + " of " + number(required_size(is)) + " bytes");
}

}  // namespace

StripeReport check_striped(const StripeName& name, const std::vector<FoundSubfile>& found) {
  const auto is_there = [](const FoundSubfile& f) { return f.exists || f.has_identity_file; };
  if (std::ranges::none_of(found, is_there))
    throw Error(Code::not_found, "there is no striped file '" + name.given + "'", ENOENT);
  StripeReport report;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < found.size(); ++i) {
    check_one(report, name, found[i], static_cast<int>(i), found[0].identity);
    sizes.push_back(found[i].size);
    if (report.unit == 0 && found[i].identity) report.unit = found[i].identity->unit;
  }
  if (report.unit > 0) report.size = logical_size({report.unit, std::ssize(found)}, sizes);
  report.closed = std::ranges::all_of(
      found, [&](const FoundSubfile& f) { return f.identity && f.identity->size == report.size; });
  return report;
}

}  // namespace sheaf::sfio
