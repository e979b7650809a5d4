#pragma once
// Encryption as a job: files of random bytes, sealed block by block with OpenSSL.
//
// Every block has a nonce of its own (file and block number) and a tag. Members share the blocks of all
// files, or take whole files; the cipher text and the tags are the same.

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tauto/tauto.hpp>

#include "runners/shared/job.hpp"

namespace tauto::runner {

struct encryption_request : options {
    std::string cipher = "aes-256-gcm";
    std::int64_t bytes = 64'000'000;   ///< of all files together
    std::int64_t files = 16;           ///< of one size each
    std::int64_t block_bytes = 65536;  ///< that are sealed with one tag
};

/// Checks everything that can be known before the job starts; see command_line.
encryption_request parse_encryption(int argc, char** argv, std::string_view executable,
                                    const description& runtime);

/// One thread's use of a cipher.
class sealer {
  public:
    explicit sealer(const std::string& cipher);

    static constexpr std::size_t tag_bytes = 16;

    /// Encrypts `bytes` bytes and writes the tag. Throws input_error if OpenSSL fails.
    void seal(std::uint32_t file, std::uint64_t block, const char* plain, std::size_t bytes, char* sealed,
              char* tag);
    /// Decrypts; false where the tag does not fit.
    bool open(std::uint32_t file, std::uint64_t block, const char* sealed, std::size_t bytes, char* plain,
              const char* tag);

  private:
    struct release {
        void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
    };
    std::unique_ptr<EVP_CIPHER_CTX, release> context_;
};

class encryption_job : public job {
  public:
    static constexpr std::string_view executable = "tauto-power-encryption";
    static description describe();

    explicit encryption_job(const encryption_request& asked);

    void repeat() override;
    void forget_account() override;
    std::vector<busy_worker> workers() const override;
    job_answer check() override;
    json detail(double repetitions) const override;
    // The loop's schedule may leave out members.
    bool may_drop_workers() const override { return true; }
    std::string diagnosis() const override;

  private:
    struct block {
        std::uint32_t file;
        std::uint64_t number;  // in the file
        std::size_t begin;     // in the data
        std::size_t bytes;
    };
    struct alignas(128) account {
        double seconds = 0.0;
        int cpu = 0;
    };

    void seal(std::size_t first, std::size_t last, int rank);

    encryption_request asked_;
    std::string plain_;
    std::string sealed_;
    std::string tags_;
    std::vector<block> blocks_;
    std::vector<std::size_t> first_block_;  // of each file, and one more for the end
    std::vector<sealer> sealers_;           // by rank
    std::vector<account> accounts_;
    std::optional<tauto::team> team_;
};

}  // namespace tauto::runner
