// cli/stripe/stripe_commands: what the subcommands of `sheaf stripe` do. Each returns the exit code and
// throws sheaf::Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sheaf::cli {

struct StripeOptions {
  std::string name;  // of the striped file
  std::string root;  // empty: SHEAF_SFIO_ROOT, else this machine only
  std::string file;  // the plain file of import and export
  std::optional<int64_t> unit;
  std::optional<int64_t> offset;
  std::optional<int64_t> length;
  bool replace = false;
  bool json = false;
};

int stripe_ls(const StripeOptions& options);
int stripe_cat(const StripeOptions& options);
int stripe_import(const StripeOptions& options);
int stripe_export(const StripeOptions& options);
int stripe_check(const StripeOptions& options);
int stripe_rm(const StripeOptions& options);

}  // namespace sheaf::cli
