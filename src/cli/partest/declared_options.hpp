// cli/partest/declared_options: declares the options of sheaf-partest for CLI11.
#pragma once

#include "cli/partest/options.hpp"

namespace CLI {
class App;
}

namespace sheaf::partest {

void add_options(CLI::App& app, Options& options);

}  // namespace sheaf::partest
