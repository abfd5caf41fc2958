import { writeFile } from 'node:fs/promises';
import { licenceList, licences } from './licences.ts';

/** `npm run licences`: writes the list anew after a package has changed. */
await writeFile(licenceList, `${(await licences()).join('\n')}\n`);
