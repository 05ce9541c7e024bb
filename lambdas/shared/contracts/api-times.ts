import * as z from 'zod';

const FIRST_DAY = '2000-01-01';
const LAST_DAY = '2999-12-31';

/** A time as the API gives it. */
export const when = z.iso.datetime();

/** A day that may be asked for; far enough from the ends of what four digits name that days beside it have four, too. */
export const day = z.iso
  .date()
  .refine((text) => text >= FIRST_DAY && text <= LAST_DAY, `must be a day from ${FIRST_DAY} to ${LAST_DAY}`)
  .meta({ description: `A day in UTC, from ${FIRST_DAY} to ${LAST_DAY}.` });
