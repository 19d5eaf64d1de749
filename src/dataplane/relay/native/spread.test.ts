/** The engine's own choice, without connections: 100,000 picks by each algorithm, and least connections against an oracle. */
import { expect, test } from 'vitest'
import { chiSquareOf, mostByChance } from '../../../core/balance/testing/chi-square.ts'
import { outputOf } from './testing/output-of.ts'

const picks = 100_000
const balancings = ['ROUND_ROBIN', 'RANDOM', 'LEAST_CONNECTIONS', 'SOURCE_HASH', 'MAGLEV'] as const

const head = `#include "relay.h"
  #include <stdio.h>
  #include <stdlib.h>
  #include <string.h>
  static struct endpoint list[10];
  static struct endpoint *endpoints[10];
  static struct pool pool = {.endpoints = endpoints, .random = 18};
  static void fill(unsigned count, const unsigned *weights) {
    for (unsigned index = 0; index < count; index++) {
      list[index] = (struct endpoint){.weight = weights[index]};
      sprintf(list[index].name, "10.64.0.%u:8080", index + 1);
      endpoints[index] = &list[index];
    }
    pool.count = count;
    pool.turn = 0;
    spread_changed(&pool);
  }`

test.each([[Array.from({ length: 10 }, () => 1)], [[1, 3, 6]]])(
  'weights of %j are kept by each algorithm',
  async (weights) => {
    const lines = await outputOf(
      `${head}
     int main(void) {
       const unsigned weights[] = {${weights.join()}};
       const unsigned count = ${weights.length};
       for (int balancing = ROUND_ROBIN; balancing <= MAGLEV; balancing++) {
         unsigned counts[10] = {0};
         pool.balancing = balancing;
         fill(count, weights);
         for (unsigned pick = 0; pick < ${picks}; pick++) {
           char ip[32];
           union address client;
           sprintf(ip, "10.%u.%u.%u", pick >> 16, (pick >> 8) & 255, pick & 255);
           if (!address_parse(&client, ip, "40000")) return 1;
           counts[spread_next(&pool, &client, 1) - list]++;
         }
         for (unsigned index = 0; index < count; index++) printf("%u ", counts[index]);
         printf("\\n");
       }
     }`,
      ['spread.c', 'gate.c', 'buckets.c', 'siphash.c', 'maglev.c', 'address.c'],
    )
    const sum = weights.reduce((total, weight) => total + weight, 0)
    const countsByAlgorithm = lines.trim().split('\n')
    expect(countsByAlgorithm).toHaveLength(balancings.length)
    for (const [index, line] of countsByAlgorithm.entries()) {
      const counts = line.trim().split(' ').map(Number)
      expect(chiSquareOf(counts, weights), `${balancings[index]}: ${line}`).toBeLessThan(mostByChance(weights.length))
      for (const [at, count] of counts.entries())
        expect(Math.abs(count / picks - (weights[at] ?? 0) / sum), `${balancings[index]}: ${line}`).toBeLessThan(0.02)
    }
  },
)

test('by least connections, the chosen one is the least busy for its weight, whatever opens and closes', async () => {
  const output = await outputOf(
    `${head}
     int main(void) {
       static struct endpoint *opened[${picks}];
       unsigned open = 0;
       srand(18);
       pool.balancing = LEAST_CONNECTIONS;
       fill(5, (const unsigned[]){1, 2, 3, 5, 9});
       for (unsigned step = 0; step < ${picks}; step++) {
         if (open > 0 && rand() % 2 == 0) {
           unsigned one = (unsigned)rand() % open;
           opened[one]->open--;
           opened[one] = opened[--open];
           continue;
         }
         struct endpoint *chosen = spread_next(&pool, NULL, 1);
         for (unsigned index = 0; index < pool.count; index++)
           if (list[index].open * (int64_t)chosen->weight < chosen->open * (int64_t)list[index].weight) {
             printf("step %u: endpoint %u was less busy\\n", step, index);
             return 0;
           }
         chosen->open++;
         opened[open++] = chosen;
       }
       printf("always the least busy\\n");
     }`,
    ['spread.c', 'gate.c', 'buckets.c', 'siphash.c', 'maglev.c', 'address.c'],
  )
  expect(output.trim()).toBe('always the least busy')
})
