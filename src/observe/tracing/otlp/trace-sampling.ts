/** Which traces are sent. What is kept in memory does not depend on it. */
import { refuse } from './otel-variables.ts'
import type { OtelVariables, Setting } from './otel-variables.ts'

export interface TraceSampling {
  /** The share of all traces that begin here, 0 to 1. A trace is in it or not by its id alone, in every process. */
  readonly ratio: number
  /** A trace that began in another process is sent if that process sends its part. */
  readonly followsParent: boolean
}

const samplerVariable = 'OTEL_TRACES_SAMPLER'
const argumentVariable = 'OTEL_TRACES_SAMPLER_ARG'
const known = 'always_on, always_off, traceidratio, or one of them with parentbased_ before it'

export function readSampling(variables: OtelVariables): TraceSampling {
  const sampler = variables.get(samplerVariable)
  if (sampler === undefined) return { ratio: 1, followsParent: true }
  const followsParent = sampler.value.startsWith('parentbased_')
  switch (sampler.value.replace(/^parentbased_/, '')) {
    case 'always_on':
      return { ratio: 1, followsParent }
    case 'always_off':
      return { ratio: 0, followsParent }
    case 'traceidratio':
      return { ratio: ratioFrom(variables.get(argumentVariable)), followsParent }
    default:
      return refuse(sampler, `is not supported: use ${known}`)
  }
}

function ratioFrom(found: Setting | undefined): number {
  if (found === undefined) return 1
  const ratio = /^(?:\d+\.?\d*|\.\d+)$/.test(found.value) ? Number(found.value) : NaN
  return ratio <= 1 ? ratio : refuse(found, 'is not a number between 0 and 1')
}
