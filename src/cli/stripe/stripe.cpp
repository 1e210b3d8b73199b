#include "cli/stripe/stripe.hpp"

#include <memory>

#include "cli/stripe/stripe_commands.hpp"

namespace sheaf::cli {

namespace {

const char* const footer =
    "Example: sheaf stripe ls 'tonep0,/tmp/a.dat;tonep1,/tmp/a.dat;'\n"
    "Exit codes: 0 success, 1 a problem with a file or its data, 2 a mistake in the command line.";

CLI::App* add(CLI::App& parent, const char* name, const char* what, const std::shared_ptr<StripeOptions>& o,
              int& status, int (*run)(const StripeOptions&)) {
  auto* sub = parent.add_subcommand(name, what);
  sub->add_option("NAME", o->name, "the striped file: 'host,path;host,path;...'")->required();
  sub->add_option("--root", o->root,
                  "directory with one directory per host, for hosts other than this machine")
      ->envname("SHEAF_SFIO_ROOT");
  sub->callback([o, &status, run] { status = run(*o); });
  return sub;
}

}  // namespace

void add_stripe(CLI::App& app, int& status) {
  auto* stripe =
      app.add_subcommand("stripe", "List, read, make, check and remove striped files without a running job");
  stripe->require_subcommand(1);
  stripe->footer(footer);
  const auto options = [] { return std::make_shared<StripeOptions>(); };

  auto o = options();
  add(*stripe, "ls", "Size, stripe unit and subfiles", o, status, stripe_ls)
      ->add_flag("--json", o->json, "as JSON");

  o = options();
  auto* cat = add(*stripe, "cat", "Write the logical file to standard output", o, status, stripe_cat);
  cat->add_option("--offset", o->offset, "first byte")->check(CLI::NonNegativeNumber);
  cat->add_option("--length", o->length, "most bytes")->check(CLI::NonNegativeNumber);

  o = options();
  auto* import = add(*stripe, "import", "Make a striped file from a plain file", o, status, stripe_import);
  import->add_option("FILE", o->file, "the plain file")->required();
  import->add_option("--unit", o->unit, "bytes of a stripe unit (default 64 KiB)")
      ->check(CLI::PositiveNumber);
  import->add_flag("--force", o->replace, "replace the striped file if it exists");

  o = options();
  auto* exported = add(*stripe, "export", "Make a plain file from a striped file", o, status, stripe_export);
  exported->add_option("FILE", o->file, "the plain file")->required();
  exported->add_flag("--force", o->replace, "replace the plain file if it exists");

  o = options();
  add(*stripe, "check", "Whether all subfiles are there, belong together and are long enough", o, status,
      stripe_check)
      ->add_flag("--json", o->json, "the findings as JSON");

  o = options();
  add(*stripe, "rm", "Remove all subfiles and their identities, of damaged files too", o, status, stripe_rm);
}

}  // namespace sheaf::cli
