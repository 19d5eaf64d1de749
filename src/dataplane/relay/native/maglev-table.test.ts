/** All nodes must have the same table and hash of a client, whichever engine they use. */
import { expect, test } from 'vitest'
import { hash32 } from '../../../core/balance/hash32.ts'
import { maglevTable } from '../../../core/balance/maglev.ts'
import { hostPort } from '../../../net/ip.ts'
import { clientIp } from '../node/open-listener.ts'
import { outputOf } from './testing/output-of.ts'

test('the engine makes the table that the core makes, byte for byte', async () => {
  const endpoints = Array.from({ length: 90 }, (_, index) => ({
    address: index % 3 === 0 ? `[fd00::${index.toString(16)}]:${index}` : `10.64.${index % 7}.${index}:8080`,
    weight: 1 + ((index * 7919) % 1000),
  })).toSorted((left, right) => (left.address < right.address ? -1 : 1))
  const sizes = [1, 2, 3, 10, 90]
  const tables = await outputOf(
    `#include "relay.h"
     #include <stdio.h>
     #include <string.h>
     int main(int count, char **words) {
       static struct endpoint endpoints[100];
       struct endpoint *list[100];
       unsigned known = 0;
       for (int index = 1; index + 1 < count; index += 2, known++) {
         strcpy(endpoints[known].name, words[index]);
         list[known] = &endpoints[known];
       }
       for (int is_even = 0; is_even < 2; is_even++) {
         for (unsigned index = 0; index < known; index++)
           endpoints[index].weight = is_even ? 1 : (unsigned)atoi(words[2 * index + 2]);
         const unsigned sizes[] = {${sizes.join()}};
         for (unsigned size = 0; size < sizeof sizes / sizeof *sizes; size++) {
           uint16_t *table = maglev_create(list, sizes[size]);
           for (int slot = 0; slot < MAGLEV_SLOTS; slot++) printf("%u ", table[slot]);
           printf("\\n");
           free(table);
         }
       }
     }`,
    ['maglev.c'],
    endpoints.flatMap(({ address, weight }) => [address, String(weight)]),
  )
  const expected = [false, true].flatMap((isEven) =>
    sizes.map((size) =>
      maglevTable(endpoints.slice(0, size).map((one) => (isEven ? { ...one, weight: 1 } : one))).join(' '),
    ),
  )
  expect(tables.trim().split(/ ?\n/)).toEqual(expected)
})

const special =
  '0.0.0.0 127.0.0.1 255.255.255.255 10.64.7.200 :: ::1 fe80::1 2001:db8:: 1:0:0:2::3 1:0:2:3:4:5:6:7 fd00:0:0:1::2'.split(
    ' ',
  )

test('the engine has the same hash of a client', async () => {
  const random = (count: number) => Array.from({ length: count }, () => Math.floor(Math.random() * 65_536).toString(16))
  const ips = [
    ...special,
    ...Array.from({ length: 200 }, () => random(8).join(':')),
    ...Array.from({ length: 200 }, (_, zeros) =>
      random(8)
        .with(zeros % 7, '0')
        .with((zeros % 7) + 1, '0')
        .join(':'),
    ),
  ]
  const hashes = await outputOf(
    `#include "relay.h"
     #include <stdio.h>
     int main(int count, char **words) {
       for (int index = 1; index < count; index++) {
         union address address;
         char text[ADDRESS_TEXT];
         if (!address_parse(&address, words[index], "40000")) return 1;
         printf("%u ", hash32(address_ip_text(&address, text), 3));
         printf("%u\\n", hash32(address_text(&address, text), 4));
       }
     }`,
    ['maglev.c', 'address.c'],
    ips,
  )
  const expected = ips.map((ip) => `${hash32(clientIp(ip), 3)} ${hash32(hostPort(clientIp(ip), 40_000), 4)}`)
  expect(hashes.trim().split('\n')).toEqual(expected)
})
