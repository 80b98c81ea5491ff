/// \file
/// SHA-256 of files, and the check against a SHA256SUMS list.
#pragma once

#include <string>

namespace plsh::properties {

/// SHA-256 of a file, 64 hexadecimal digits. \throws std::runtime_error when it cannot be read.
std::string sha256_of_file(const std::string& path);

/// The SHA-256 of `path`, checked: where a file SHA256SUMS (the format of sha256sum) lies beside it
/// and names it, the two must agree. \throws std::runtime_error "PATH: ..." when they do not.
std::string verified_sha256(const std::string& path);

}  // namespace plsh::properties
