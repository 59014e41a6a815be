/*
 * The scripts of the Redis lock libraries that are known; see resp_scripts.h. The digests are those of
 * redis-py 5 to 8, redlock-py 1.0, pottery 3.0, node-redlock 4.2 and 5.0, redsync 4, bsm/redislock 0.9,
 * redlock-rb 2 and rslock 0.10.
 */
#include "serve/resp_scripts.h"

#include <stdio.h>
#include <strings.h>

#include <openssl/sha.h>

static const struct serve_script scripts[] = {
    {"c3f8721cbb97f72bc19e972846bd7aaf91901658", "redis-py", SERVE_MEANS_RELEASE, 1},
    {"a4e8783852e6b949f9ef3a97212805108459a890", "redis-py", SERVE_MEANS_EXTEND_BY, 3},
    {"1cac51482acf5858da00f6d685d68f886cd6b6b2", "redis-py", SERVE_MEANS_EXTEND, 2},
    {"4e92fdc63815b3a0a2dd1c1df3694de73607c88d", "redlock-py", SERVE_MEANS_RELEASE, 1},
    {"f5f7bd3a3aa4a63c507c1155c5ea1219b350d992", "pottery", SERVE_MEANS_LEFT, 1},
    {"ba015a80261b616e7a62d35df0b8e3edbe6c9414", "pottery", SERVE_MEANS_EXTEND, 2},
    {"a4aada0b36710970eedaaaeec4a6b7d8c78c4f80", "pottery", SERVE_MEANS_RELEASE, 1},
    {"e5a322e2634ef59a516e8ea150cb085afafee684", "node-redlock 4", SERVE_MEANS_TAKE, 2},
    {"0f0f23b9048b36752b5be114f357ba083449f908", "node-redlock 4", SERVE_MEANS_RELEASE, 1},
    {"ce46f80993d5dac20dd066eb301a4e37994bdbed", "node-redlock 4", SERVE_MEANS_EXTEND, 2},
    {"96da70f7716f27d278a5218544df37fd8b0a5e4c", "node-redlock 5", SERVE_MEANS_TAKE, 2},
    {"e4612211c9f8f51c257e26e056b0a654b3187242", "node-redlock 5", SERVE_MEANS_RELEASE, 1},
    {"aed6f382e410db8ba7926d4e5e9aab410bf2a78a", "node-redlock 5", SERVE_MEANS_EXTEND, 2},
    {"e950836ed1e694540c503ef9972b8de518044d3b", "redsync", SERVE_MEANS_RELEASE_OR_GONE, 1},
    {"b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79", "redsync", SERVE_MEANS_EXTEND_OR_TAKE, 2},
    {"d75bb8b5bd13532ddedd17762e772346e39b321e", "redsync", SERVE_MEANS_EXTEND, 2},
    {"a7aba3bc5d6e99b3003da8b9d80a63b9f4092ecf", "bsm/redislock", SERVE_MEANS_EXTEND, 2},
    {"cf0e94b2e9ffc7e04395cf88f7583fc309985910", "bsm/redislock", SERVE_MEANS_RELEASE, 1},
    {"6484da7d58920897fdc22b7f9afd1a3d47524ea8", "bsm/redislock", SERVE_MEANS_LEFT_OR_MINUS_3, 1},
    {"80a1b5f2cfccec3b7119ba7721d2127682b691a7", "bsm/redislock", SERVE_MEANS_OBTAIN, 3},
    {"ceb2b2062e40c51a2b3963fd078bc71f11bdc65c", "redlock-rb", SERVE_MEANS_LOCK, 3},
    {"8e4905cee18e7c3188d10f2b8b170e403baed34f", "redlock-rb", SERVE_MEANS_RELEASE, 1},
    {"daf86bbf8740dd3ca86733367a016364b2110627", "rslock", SERVE_MEANS_RELEASE, 1},
    {"17a49af0c4b1a9034503fa84f3570f5ca76c4cbf", "rslock", SERVE_MEANS_EXTEND, 2},
};

const struct serve_script *serve_script_find(struct serve_text digest)
{
    for (size_t i = 0; digest.length == 40 && i < sizeof scripts / sizeof scripts[0]; i++)
        if (strncasecmp(scripts[i].digest, digest.bytes, 40) == 0)
            return &scripts[i];
    return NULL;
}

void serve_script_digest(struct serve_text text, char digest[41])
{
    unsigned char hash[SHA_DIGEST_LENGTH];

    SHA1((const unsigned char *)text.bytes, text.length, hash);
    for (size_t i = 0; i < sizeof hash; i++)
        snprintf(digest + 2 * i, 3, "%02x", hash[i]);
}
