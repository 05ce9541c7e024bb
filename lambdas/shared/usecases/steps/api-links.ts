/** How long a link to an object of a record holds. */
export const LINK_SECONDS = 300;
