/** Inside a guest: measures the case of the first argument, and leaves the result in the shared folder. */
import { writeFileSync } from 'node:fs'
import { runIpvs } from './ipvs-run.ts'
import type { IpvsCase } from './ipvs-run.ts'

const measured = await runIpvs(JSON.parse(process.argv[2] ?? '') as IpvsCase)
writeFileSync('/run/shared/result.json', JSON.stringify(measured))
