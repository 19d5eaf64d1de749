import { systemClock } from '../../../core/clock.ts'
import { silentLogger } from '../../../core/logger.ts'
import { NodeRelay } from './node-relay.ts'
import { relayContract } from '../contract/relay.contract.ts'

relayContract(
  'the Node relay',
  (settings, told) => new NodeRelay({ log: silentLogger, clock: systemClock, settings, ...told }),
)
