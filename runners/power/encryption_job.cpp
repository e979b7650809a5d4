#include "runners/power/encryption_job.hpp"

#include <openssl/crypto.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "kernels/fnv1a.hpp"
#include "runners/power/request.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/random_bytes.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace tauto::runner {

namespace {

using nonce = std::array<unsigned char, 12>;

// A fixed key: the data are random bytes, and nothing is kept.
constexpr std::array<unsigned char, 32> key{7, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

nonce nonce_of(std::uint32_t file, std::uint64_t block) {
    nonce made{};
    for (std::size_t i = 0; i < 4; ++i) made[i] = static_cast<unsigned char>(file >> (8 * i));
    for (std::size_t i = 0; i < 8; ++i) made[4 + i] = static_cast<unsigned char>(block >> (8 * i));
    return made;
}

void require(int done, const char* what) {
    if (done != 1)
        throw input_error("OpenSSL could not " + std::string{what} +
                          "; look at its configuration (openssl list)");
}

const unsigned char* bytes_of(const char* text) {
    return reinterpret_cast<const unsigned char*>(text);
}

unsigned char* bytes_of(char* text) {
    return reinterpret_cast<unsigned char*>(text);
}

const EVP_CIPHER* cipher_named(const std::string& name) {
    return name == "aes-256-gcm" ? EVP_aes_256_gcm() : EVP_chacha20_poly1305();
}

}  // namespace

encryption_request parse_encryption(int argc, char** argv, std::string_view executable,
                                    const description& runtime) {
    encryption_request chosen;
    command_line line{"Files that are encrypted and signed block by block", "Blocks", executable, runtime,
                      chosen};
    line.add("--cipher", chosen.cipher, "aes-256-gcm or chacha20-poly1305");
    line.add("--bytes", chosen.bytes, "Bytes of all files together");
    line.add("--files", chosen.files, "Files");
    line.add("--block-bytes", chosen.block_bytes, "Bytes of a block");
    if (!line.parse(argc, argv)) return chosen;
    if (chosen.cipher != "aes-256-gcm" && chosen.cipher != "chacha20-poly1305")
        throw input_error("there is no cipher '" + chosen.cipher +
                          "' here; use aes-256-gcm or chacha20-poly1305");
    require_from_one("--files", chosen.files);
    require_from_one("--block-bytes", chosen.block_bytes);
    require_at_most("--block-bytes", chosen.block_bytes, 1 << 30);
    if (chosen.bytes < chosen.files)
        throw input_error("--bytes is " + std::to_string(chosen.bytes) + " for " +
                          std::to_string(chosen.files) + " files; each has 1 or more");
    line.check();
    require_threads(chosen);
    require_memory_for(chosen.bytes);
    return chosen;
}

sealer::sealer(const std::string& cipher) : context_{EVP_CIPHER_CTX_new()} {
    require(context_ != nullptr, "make a context");
    require(EVP_CipherInit_ex(context_.get(), cipher_named(cipher), nullptr, key.data(), nullptr, 1),
            "use this cipher");
}

void sealer::seal(std::uint32_t file, std::uint64_t block, const char* plain, std::size_t bytes, char* sealed,
                  char* tag) {
    const nonce own = nonce_of(file, block);
    int written = 0;
    require(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, own.data(), 1), "begin a block");
    require(EVP_CipherUpdate(context_.get(), bytes_of(sealed), &written, bytes_of(plain),
                             static_cast<int>(bytes)),
            "encrypt a block");
    require(EVP_CipherFinal_ex(context_.get(), bytes_of(sealed) + written, &written), "end a block");
    require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag), "give a tag");
}

bool sealer::open(std::uint32_t file, std::uint64_t block, const char* sealed, std::size_t bytes, char* plain,
                  const char* tag) {
    const nonce own = nonce_of(file, block);
    std::array<char, tag_bytes> expected{};
    std::copy_n(tag, tag_bytes, expected.data());
    int written = 0;
    require(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, own.data(), 0), "begin a block");
    require(EVP_CipherUpdate(context_.get(), bytes_of(plain), &written, bytes_of(sealed),
                             static_cast<int>(bytes)),
            "decrypt a block");
    require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, expected.data()),
            "take a tag");
    return EVP_CipherFinal_ex(context_.get(), bytes_of(plain) + written, &written) == 1;
}

description encryption_job::describe() {
    description encryption = tautochrone_description();
    encryption.schedules = {{"serial", false}, {"blocks", false}, {"files", false}};
    return encryption;
}

encryption_job::encryption_job(const encryption_request& asked)
    : asked_{asked}, plain_{random_bytes(usize(asked.bytes))}, sealed_(plain_.size(), '\0') {
    const auto files = usize(asked_.files);
    const auto block_bytes = usize(asked_.block_bytes);
    for (std::size_t file = 0; file < files; ++file) {
        first_block_.push_back(blocks_.size());
        const std::size_t end = plain_.size() * (file + 1) / files;
        std::uint64_t number = 0;
        for (std::size_t begin = plain_.size() * file / files; begin < end; begin += block_bytes)
            blocks_.push_back(
                {static_cast<std::uint32_t>(file), number++, begin, std::min(block_bytes, end - begin)});
    }
    first_block_.push_back(blocks_.size());
    tags_.resize(blocks_.size() * sealer::tag_bytes);
    for (int rank = 0; rank < asked_.threads; ++rank) sealers_.emplace_back(asked_.cipher);
    accounts_.resize(sealers_.size());
    if (asked_.schedule != "serial") team_.emplace(team_options_of(asked_));
}

void encryption_job::seal(std::size_t first, std::size_t last, int rank) {
    account& mine = at(accounts_, rank);
    const double begin = thread_cpu_seconds();
    for (std::size_t i = first; i < last; ++i) {
        const block& one = blocks_[i];
        at(sealers_, rank)
            .seal(one.file, one.number, &plain_[one.begin], one.bytes, &sealed_[one.begin],
                  &tags_[i * sealer::tag_bytes]);
    }
    mine.seconds += thread_cpu_seconds() - begin;
    mine.cpu = sched_getcpu();
}

void encryption_job::repeat() {
    if (!team_) {
        seal(0, blocks_.size(), 0);
    } else if (asked_.schedule == "blocks") {
        tauto::parallel_for(*team_, std::ssize(blocks_),
                            [this](range some, int rank) { seal(usize(some.begin), usize(some.end), rank); });
    } else {
        tauto::parallel_for(*team_, asked_.files, [this](range some, int rank) {
            seal(at(first_block_, some.begin), at(first_block_, some.end), rank);
        });
    }
}

void encryption_job::forget_account() {
    for (account& one : accounts_) one = {};
}

std::vector<busy_worker> encryption_job::workers() const {
    std::vector<busy_worker> found;
    for (std::size_t rank = 0; rank < accounts_.size(); ++rank)
        if (accounts_[rank].seconds > 0.0)
            found.push_back(
                {static_cast<int>(rank), accounts_[rank].cpu, "encrypts", accounts_[rank].seconds});
    return found;
}

job_answer encryption_job::check() {
    job_answer found{true, fnv1a_text(fnv1a(tags_)), ""};
    std::string opened(usize(asked_.block_bytes), '\0');
    for (std::size_t i = 0; i < blocks_.size() && found.passed; ++i) {
        const block& one = blocks_[i];
        found.passed = sealers_.front().open(one.file, one.number, &sealed_[one.begin], one.bytes,
                                             opened.data(), &tags_[i * sealer::tag_bytes]) &&
                       std::memcmp(opened.data(), &plain_[one.begin], one.bytes) == 0;
        if (!found.passed)
            found.reason = "block " + std::to_string(one.number) + " of file " + std::to_string(one.file) +
                           " does not decrypt to what was encrypted";
    }
    return found;
}

json encryption_job::detail(double) const {
    return {{"cipher", asked_.cipher},
            {"bytes", asked_.bytes},
            {"files", asked_.files},
            {"block_bytes", asked_.block_bytes},
            {"cipher_library", OpenSSL_version(OPENSSL_VERSION)}};
}

std::string encryption_job::diagnosis() const {
    return team_ ? diagnosis_of(*team_) : "it has the calling thread only";
}

}  // namespace tauto::runner
