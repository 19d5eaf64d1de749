/** All rows, in groups that one proxy process can serve. */
import { clusterIpRows, clusterIpServices } from '../rows/cluster-ip.ts'
import { externalPolicyRows, externalPolicyServices } from '../rows/external-policy.ts'
import { matrixRows, matrixScenarios, matrixServices } from '../rows/matrix.ts'
import { nodePortRows, nodePortScenarios, nodePortServices } from '../rows/node-port-addresses.ts'
import { outsideDoorRows, outsideDoorScenarios, outsideDoorServices } from '../rows/outside-doors.ts'
import { terminationRows, terminationServices } from '../rows/termination.ts'
import type { ProxyMode } from './proxy.ts'
import type { Scenario } from './row.ts'

const plain: Scenario = {
  name: 'plain settings',
  settings: {},
  services: [
    ...clusterIpServices,
    ...outsideDoorServices,
    ...externalPolicyServices,
    ...terminationServices,
    ...nodePortServices,
    ...matrixServices,
  ],
  rows: [
    ...clusterIpRows,
    ...outsideDoorRows,
    ...externalPolicyRows,
    ...terminationRows,
    ...nodePortRows,
    ...matrixRows,
  ],
}

export const scenarios: readonly Scenario[] = [plain, ...nodePortScenarios, ...outsideDoorScenarios, ...matrixScenarios]

/** With the rows that are true of the mode. */
export function scenariosOf(mode: ProxyMode): readonly Scenario[] {
  const own = scenarios.map((one) => ({ ...one, rows: one.rows.filter(({ modes }) => modes.includes(mode)) }))
  return own.filter(({ rows }) => rows.length > 0)
}
