import type { NodeRecord } from '../../api/records.ts'

/** A Node for tests, with only what the test is about spelled out. */
export function testNode(overrides: Partial<NodeRecord> = {}): NodeRecord {
  return {
    kind: 'Node',
    name: 'this-node',
    ips: ['192.0.2.1'],
    podCIDRs: [],
    zone: '',
    isBeingDeleted: false,
    taintKeys: [],
    ...overrides,
  }
}
