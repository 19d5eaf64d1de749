import { expect, test } from 'vitest'
import { comparable } from './comparable.ts'
import { create, service } from './scenario.ts'
import type { JsonObject, Scenario } from './scenario.ts'

test('what a server chose by itself does not count', () => {
  const scenario = creating({ type: 'NodePort', ports: [{ port: 80 }] })
  const answers = [
    answer({ clusterIP: '10.96.1.1', ports: [{ nodePort: 30001 }] }, { uid: 'a', resourceVersion: '1' }),
    answer({ clusterIP: '10.96.1.2', ports: [{ nodePort: 30002 }] }, { uid: 'b', resourceVersion: '2' }),
  ]
  const [first, second] = answers.map((response) => comparable(response, scenario))
  expect(first).toEqual(second)
})

test('what the client chose counts', () => {
  const scenario = creating({ clusterIP: '10.96.1.1', ports: [{ port: 80, nodePort: 30001 }] })
  const kept = comparable(answer({ clusterIP: '10.96.1.1', ports: [{ nodePort: 30001 }] }), scenario)
  expect(kept).not.toEqual(comparable(answer({ clusterIP: '10.96.1.2', ports: [{ nodePort: 30001 }] }), scenario))
  expect(kept).not.toEqual(comparable(answer({ clusterIP: '10.96.1.1', ports: [{ nodePort: 30002 }] }), scenario))
})

test('an address outside of the range counts, and so does its family', () => {
  const scenario = creating({})
  const inRange = comparable(answer({ clusterIP: '10.96.1.1' }), scenario)
  expect(inRange).not.toEqual(comparable(answer({ clusterIP: '10.97.1.1' }), scenario))
  expect(inRange).not.toEqual(comparable(answer({ clusterIP: 'fd00:10:96::1' }), scenario))
})

test('of an error, the code, the reason and the fields count, and the wording does not', () => {
  const scenario = creating({})
  const refusal = (message: string, field: string) => ({
    status: 422,
    text: '',
    json: {
      kind: 'Status',
      status: 'Failure',
      reason: 'Invalid',
      message,
      details: { causes: [{ reason: 'FieldValueInvalid', field }] },
    },
  })
  expect(comparable(refusal('no', 'spec.a'), scenario)).toEqual(comparable(refusal('never', 'spec.a'), scenario))
  expect(comparable(refusal('no', 'spec.a'), scenario)).not.toEqual(comparable(refusal('no', 'spec.b'), scenario))
})

function creating(spec: JsonObject): Scenario {
  return { name: 'a scenario', steps: [create('services', service(spec))] }
}

function answer(spec: JsonObject, metadata: JsonObject = {}): Parameters<typeof comparable>[0] {
  return { status: 201, text: '', json: service(spec, metadata) }
}
