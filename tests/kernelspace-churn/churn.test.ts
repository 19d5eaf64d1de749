import { expect, test } from 'vitest'
import { Churn } from './churn.ts'
import { keptByNode, worlds } from './worlds.ts'

test.each(worlds)(
  'after many changes and much trouble nothing of ours is left: $type, Server $profile',
  async (world) => {
    const churn = new Churn({ ...world, seed: 1 })
    for (let round = 0; round < 3; round++) {
      const { balancers, remoteEndpoints, owned } = await churn.round(80)
      expect({ balancers, remoteEndpoints }).toEqual({ balancers: 0, remoteEndpoints: 0 })
      expect([...owned].sort()).toEqual(keptByNode(world))
    }
  },
)
