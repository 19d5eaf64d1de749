import { endpointSliceScenarios } from './endpoint-slice-scenarios.ts'
import { otherKindScenarios } from './other-kind-scenarios.ts'
import { patchScenarios } from './patch-scenarios.ts'
import { requestScenarios } from './request-scenarios.ts'
import type { Scenario } from './scenario.ts'
import { serviceChangeScenarios } from './service-change-scenarios.ts'
import { serviceScenarios } from './service-scenarios.ts'
import { tableScenarios } from './table-scenarios.ts'

export const allScenarios: readonly Scenario[] = [
  ...serviceScenarios,
  ...serviceChangeScenarios,
  ...patchScenarios,
  ...requestScenarios,
  ...endpointSliceScenarios,
  ...otherKindScenarios,
  ...tableScenarios,
]
