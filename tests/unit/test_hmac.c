/* SHA-256 and HMAC against the vectors of FIPS 180-4 and RFC 4231.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "hmac.h"

static void is(const unsigned char digest[TT_DIGEST], const char *hex) {
  char text[2 * TT_DIGEST + 1];
  for (int i = 0; i < TT_DIGEST; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
  assert_string_equal(text, hex);
}

static void digests_of_the_standard(void **state) {
  static const struct {
    const char *text, *hex;
  } cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t cut = 0; cut <= strlen(cases[i].text); cut++) {
      tt_sha256 s;
      unsigned char digest[TT_DIGEST];
      tt_sha256_begin(&s);
      tt_sha256_add(&s, cases[i].text, cut);
      tt_sha256_add(&s, cases[i].text + cut, strlen(cases[i].text) - cut);
      tt_sha256_end(&s, digest);
      is(digest, cases[i].hex);
    }
  tt_sha256 s;
  unsigned char digest[TT_DIGEST];
  tt_sha256_begin(&s);
  for (int i = 0; i < 1000000; i++) tt_sha256_add(&s, "a", 1);
  tt_sha256_end(&s, digest);
  is(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void keyed_digests_of_the_rfc(void **state) {
  char bytes[200];
  unsigned char digest[TT_DIGEST];
  (void)state;
  memset(bytes, 0x0b, 20);
  tt_hmac(bytes, 20, &(tt_piece){"Hi There", 8}, 1, digest);
  is(digest, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  const tt_piece two[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
  tt_hmac("Jefe", 4, two, 2, digest);
  is(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  char data[50];
  memset(bytes, 0xaa, 131);
  memset(data, 0xdd, 50);
  tt_hmac(bytes, 20, &(tt_piece){data, 50}, 1, digest);
  is(digest, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  /* a key of one block, which is not hashed: by Python's hmac */
  tt_hmac(memset(bytes, 0xaa, 64), 64, &(tt_piece){data, 50}, 1, digest);
  is(digest, "e3b73eef0fe1ad930dfbe27c108d925234e64a5d9a8c6cf1a87abddc9511c42b");
  memset(bytes, 0xaa, 131);
  tt_hmac(bytes, 131, &(tt_piece){"Test Using Larger Than Block-Size Key - Hash Key First", 54}, 1,
          digest);
  is(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void digests_that_differ_anywhere_are_not_the_same(void **state) {
  unsigned char a[TT_DIGEST] = {1, 2, 3}, b[TT_DIGEST];
  (void)state;
  for (int i = -1; i < 8 * TT_DIGEST; i++) {
    memcpy(b, a, sizeof b);
    if (i >= 0) b[i / 8] ^= (unsigned char)(1 << (i % 8));
    assert_int_equal(tt_digest_same(a, b), i < 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digests_of_the_standard),
      cmocka_unit_test(keyed_digests_of_the_rfc),
      cmocka_unit_test(digests_that_differ_anywhere_are_not_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
