/** Style sheets, which the build puts into a file of their own. */
declare module "*.css";
