#include "cli/stripe/stripe.hpp"

#include "cli/command_line.hpp"
#include "cli/stripe/stripe_commands.hpp"

namespace sheaf::cli {

namespace {

const char* const footer =
    "Example: sheaf stripe ls 'tonep0,/tmp/a.dat;tonep1,/tmp/a.dat;'\n"
    "Exit codes: 0 success, 1 a problem with a file or its data, 2 a mistake in the command line.";

// What all of them have.
auto add_striped(CLI::App& parent, int& status, int (*run)(const StripeOptions&), const char* name,
                 const char* what) {
  auto made = add<StripeOptions>(parent, status, run, name, what);
  made.sub->add_option("NAME", made.o->name, "the striped file: 'host,path;host,path;...'")->required();
  made.sub
      ->add_option("--root", made.o->root,
                   "directory with one directory per host, for hosts other than this machine")
      ->envname("SHEAF_SFIO_ROOT");
  return made;
}

}  // namespace

void add_stripe(CLI::App& app, int& status) {
  auto* stripe =
      app.add_subcommand("stripe", "List, read, make, check and remove striped files without a running job");
  stripe->require_subcommand(1);
  stripe->footer(footer);

  const auto ls = add_striped(*stripe, status, stripe_ls, "ls", "Size, stripe unit and subfiles");
  add_flags(*ls.sub, {{"--json", ls.o->json, "as JSON"}});

  const auto cat =
      add_striped(*stripe, status, stripe_cat, "cat", "Write the logical file to standard output");
  cat.sub->add_option("--offset", cat.o->offset, "first byte")->check(CLI::NonNegativeNumber);
  cat.sub->add_option("--length", cat.o->length, "most bytes")->check(CLI::NonNegativeNumber);

  const auto import =
      add_striped(*stripe, status, stripe_import, "import", "Make a striped file from a plain file");
  import.sub->add_option("FILE", import.o->file, "the plain file")->required();
  import.sub->add_option("--unit", import.o->unit, "bytes of a stripe unit (default 64 KiB)")
      ->check(CLI::PositiveNumber);
  add_flags(*import.sub, {{"--force", import.o->replace, "replace the striped file if it exists"}});

  const auto exported =
      add_striped(*stripe, status, stripe_export, "export", "Make a plain file from a striped file");
  exported.sub->add_option("FILE", exported.o->file, "the plain file")->required();
  add_flags(*exported.sub, {{"--force", exported.o->replace, "replace the plain file if it exists"}});

  const auto check = add_striped(*stripe, status, stripe_check, "check",
                                 "Whether all subfiles are there, belong together and are long enough");
  add_flags(*check.sub, {{"--json", check.o->json, "the findings as JSON"}});

  add_striped(*stripe, status, stripe_rm, "rm",
              "Remove all subfiles and their identities, of damaged files too");
}

}  // namespace sheaf::cli
