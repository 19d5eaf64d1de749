import { ipvsContract } from './ipvs.contract.ts'
import { MemoryIpvs } from './memory-ipvs.ts'

ipvsContract('MemoryIpvs', async () => new MemoryIpvs())
